"""What an extractor is: a frozen value that turns rows of a space into rows of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tilewright.features.loops import COLUMNS, contexts
from tilewright.loops.nodes import Nest
from tilewright.schedule.schedule import Schedule
from tilewright.space.space import Space


class Extractor(Protocol):
    """Turns a population into features; the same columns for every row, whatever its structure.

    `names` are those of the columns, in their order, and the same for every space; none if they
    depend on the space, and a model of them is worth nothing elsewhere. `version` counts up when a
    column changes its meaning. A saved model knows its features by both.
    """

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def version(self) -> int: ...

    def extract(self, space: Space[Schedule], rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return float32 features (rows, columns) for an int32 matrix (rows, knobs).

        A row that cannot be lowered, since its program raises, is all NaN.
        """
        ...


@dataclass(frozen=True)
class Joined:
    """The columns of several extractors, side by side; nests are lowered once for all of them."""

    parts: tuple[NestExtractor, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all parts; those of a part that comes twice are there twice."""
        return tuple(name for part in self.parts for name in part.names)

    @property
    def version(self) -> int:
        """The sum of the parts' versions, which grows when one of them does."""
        return sum(part.version for part in self.parts)

    def of(self, table: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.hstack([part.of(table) for part in self.parts])

    def extract(self, space: Space[Schedule], rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return lowered(space, rows, self.of)


class NestExtractor(Protocol):
    """An extractor that looks at the contexts of the loops alone."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def version(self) -> int: ...

    def of(self, table: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return features (rows, columns) from loop contexts (rows, loops, columns)."""
        ...


def lowered(space: Space[Schedule], rows: np.ndarray[Any, Any], features: Any) -> Any:
    """Lower the rows, those that share their structure together, and collect their features."""
    width = features(np.zeros((1, 1, len(COLUMNS)), np.float32)).shape[1]
    return of_nests(space, rows, width, lambda nest, count: features(contexts(nest, count)))


def of_nests(
    space: Space[Schedule],
    rows: np.ndarray[Any, Any],
    width: int,
    features: Callable[[Nest, int], np.ndarray[Any, Any]],
) -> np.ndarray[Any, Any]:
    """Collect what `features` says of a nest and of how many candidates it is, (count, width)."""
    out = np.full((len(rows), width), np.nan, np.float32)
    for where, schedule in space.populations(rows):
        out[where] = features(schedule.loops, len(where))
    return out
