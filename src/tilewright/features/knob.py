"""Configuration features: the values of the knobs themselves, which mean nothing elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.schedule.schedule import Schedule
from tilewright.space.space import Space


@dataclass(frozen=True)
class KnobValues:
    """The index of the choice of each knob; the columns are a space's own, and have no names."""

    version: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        return ()

    def extract(self, space: Space[Schedule], rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        assert rows.shape[1] == len(space.sizes)
        return rows.astype(np.float32)
