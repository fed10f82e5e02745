"""Features of rows met before are looked up, not computed again: a search meets most rows often."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.features.extractor import Extractor
from tilewright.schedule.schedule import Schedule
from tilewright.space.space import Space

LIMIT = 8192  # rows kept; once there are more, all are forgotten


class Remember:
    """Extracts features of one space, and keeps them."""

    def __init__(self, extractor: Extractor, space: Space[Schedule], limit: int = LIMIT) -> None:
        self._extractor, self._space, self._limit = extractor, space, limit
        self._place: dict[bytes, int] = {}
        self._kept = np.zeros((0, 0), np.float32)

    def __call__(self, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return float32 features (rows, columns), as the extractor does."""
        if len(self._place) > self._limit:
            self._place.clear()
        keys = self._space.keys(rows)
        new = {key: i for i, key in enumerate(keys) if key not in self._place}
        if new:
            made = self._extractor.extract(self._space, rows[list(new.values())])
            start = len(self._place)
            self._make_room(start + len(new), made.shape[1])
            self._kept[start : start + len(new)] = made
            self._place.update((key, start + i) for i, key in enumerate(new))
        return self._kept[[self._place[key] for key in keys]]

    def _make_room(self, rows: int, columns: int) -> None:
        if len(self._kept) < rows:
            larger = np.zeros((2 * rows, columns), np.float32)
            larger[: len(self._kept)] = self._kept.reshape(-1, columns)
            self._kept = larger
