"""What an extractor is: a frozen value that turns rows of a space into rows of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tilewright.features.loops import COLUMNS, contexts
from tilewright.schedule.schedule import Schedule
from tilewright.space.space import Space


class Extractor(Protocol):
    """Turns a population into features; the same columns for every row, whatever its structure."""

    def extract(self, space: Space[Schedule], rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return float32 features (rows, columns) for an int32 matrix (rows, knobs).

        A row that cannot be lowered, since its program raises, is all NaN.
        """
        ...


@dataclass(frozen=True)
class Joined:
    """The columns of several extractors, side by side; nests are lowered once for all of them."""

    parts: tuple[NestExtractor, ...]

    def extract(self, space: Space[Schedule], rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return lowered(space, rows, lambda table: np.hstack([p.of(table) for p in self.parts]))


class NestExtractor(Protocol):
    """An extractor that looks at the contexts of the loops alone."""

    def of(self, table: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return features (rows, columns) from loop contexts (rows, loops, columns)."""
        ...


def lowered(space: Space[Schedule], rows: np.ndarray[Any, Any], features: Any) -> Any:
    """Lower the rows, those that share their structure together, and collect their features."""
    width = features(np.zeros((1, 1, len(COLUMNS)), np.float32)).shape[1]
    out = np.full((len(rows), width), np.nan, np.float32)
    for where, schedule in space.populations(rows):
        out[where] = features(contexts(schedule.loops, len(where)))
    return out
