"""What maximises a score function over a space, inside of a search that a model guides."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewright.space.space import Population, Space

Scorer: TypeAlias = Callable[[Population], NDArray[np.float64]]


class Climber(Protocol):
    """The state of an optimiser, which it keeps between score functions."""

    def maximise(
        self,
        score: Scorer,
        n: int,
        exclude: Set[bytes] = frozenset(),
        seeds: Population | None = None,
    ) -> tuple[Population, NDArray[np.float64]]:
        """Return up to `n` good rows that are not in `exclude`, and their scores, best first.

        `score` is given each row once. `seeds` are rows to begin from.
        """
        ...


class Optimiser(Protocol):
    """A frozen spec of how to maximise, such as `Annealing` or `Evolution`."""

    def begin(self, space: Space[Any], rng: np.random.Generator) -> Climber:
        """Begin somewhere; the climber owns `rng` from here on."""
        ...


class Visits:
    """Remembers the scores of one climb, and the rows worth returning."""

    def __init__(self, space: Space[Any], score: Scorer, exclude: Set[bytes], n: int) -> None:
        self._space = space
        self._score = score
        self._exclude = exclude
        self._n = n
        self._scores: dict[bytes, float] = {}
        self._top: list[tuple[float, bytes]] = []
        self._fresh: list[tuple[float, bytes]] = []

    def score(self, pop: Population) -> NDArray[np.float64]:
        """Score the rows not met before, together; what is no number counts as -inf."""
        known = self._scores
        keys = self._space.keys(pop)
        new = {key: i for i, key in enumerate(keys) if key not in known}
        if new:
            scores = np.asarray(self._score(pop[list(new.values())]), np.float64)
            scores = np.where(np.isnan(scores), -np.inf, scores)
            known.update(zip(new, scores.tolist(), strict=True))
            least = self._top[-1][0] if len(self._top) >= self._n else -np.inf
            self._fresh += [
                (known[key], key) for key in new if known[key] >= least and key not in self._exclude
            ]
        return np.fromiter(map(known.__getitem__, keys), np.float64, len(keys))

    def improved(self) -> bool:
        """Take what was met since the last call into the best rows; whether these changed."""
        if not self._fresh:
            return False
        before = self._top
        ranked = sorted(before + self._fresh, key=lambda found: -found[0])
        self._top, self._fresh = ranked[: self._n], []
        return self._top != before

    def best(self) -> tuple[Population, NDArray[np.float64]]:
        self.improved()
        keys = b"".join(key for _, key in self._top)
        rows = np.frombuffer(keys, np.int32).reshape(len(self._top), len(self._space.knobs))
        return rows, np.array([score for score, _ in self._top], np.float64)
