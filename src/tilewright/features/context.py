"""Flat loop-context features: one vector a loop, one after the other, as they stand in the nest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.features.extractor import lowered
from tilewright.features.loops import COLUMNS
from tilewright.schedule.schedule import Schedule
from tilewright.space.space import Space


@dataclass(frozen=True)
class Context:
    """The paper's loop context vectors, flattened; fewer loops are padded with zeros."""

    loops: int = 20
    version: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{loop}.{column}" for loop in range(self.loops) for column in COLUMNS)

    def of(self, table: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        count, table = len(table), table[:, : self.loops]
        out = np.zeros((count, self.loops, len(COLUMNS)), np.float32)
        out[:, : table.shape[1]] = table
        return out.reshape(count, -1)

    def extract(self, space: Space[Schedule], rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return lowered(space, rows, self.of)
