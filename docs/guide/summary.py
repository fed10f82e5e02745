"""Features that tell the loops of a nest apart no more: what is greatest, least and added up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.features.extractor import lowered
from tilewright.features.loops import COLUMNS
from tilewright.schedule.schedule import Schedule
from tilewright.space.space import Space


@dataclass(frozen=True)
class Summary:
    """The maximum, minimum and sum over all loops of each column of their contexts."""

    version: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{how} {column}" for how in ("max", "min", "sum") for column in COLUMNS)

    def of(self, table: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.hstack([table.max(axis=1), table.min(axis=1), table.sum(axis=1)])

    def extract(self, space: Space[Schedule], rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return lowered(space, rows, self.of)
