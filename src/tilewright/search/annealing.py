"""Annealing: parallel simulated annealing on a score function (section 3.3 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewright.search.problem import demand
from tilewright.space.space import Population, Space

Scorer: TypeAlias = Callable[[Population], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Annealing:
    """Walk many Markov chains at once, which stay where they are between score functions.

    `temperature` is in standard deviations of the scores at the start of a walk, and falls to zero
    over `steps`. A walk ends early when for `patience` steps none of the rows it would return has
    changed.
    """

    chains: int = 512
    steps: int = 64
    temperature: float = 1.0
    patience: int = 24

    def __post_init__(self) -> None:
        demand(self, "chains", self.chains >= 1, "a number of at least 1")
        demand(self, "steps", self.steps >= 0, "a number that is not negative")
        demand(self, "temperature", 0 <= self.temperature < math.inf, "finite and not negative")
        demand(self, "patience", self.patience >= 1, "a number of at least 1")

    def begin(self, space: Space[Any], rng: np.random.Generator) -> Chains:
        """Place the chains at random; the chains own `rng` from here on."""
        return Chains(self, space, rng)


class Chains:
    """The state of the chains."""

    def __init__(self, spec: Annealing, space: Space[Any], rng: np.random.Generator) -> None:
        self._spec = spec
        self._space = space
        self._rng = rng
        self._at = space.sample(rng, spec.chains)

    def maximise(
        self,
        score: Scorer,
        n: int,
        exclude: Set[bytes] = frozenset(),
        seeds: Population | None = None,
    ) -> tuple[Population, NDArray[np.float64]]:
        """Walk, and return the `n` best rows met that are not in `exclude`, best first.

        Each row is scored once. `seeds` take the places of the chains that score worst.
        """
        visits = _Visits(self._space, score, exclude, n)
        at, scores = self._at, visits.score(self._at)
        if seeds is not None and len(seeds) and len(at):
            seeds = seeds[: len(at)]
            worst = np.argsort(scores, kind="stable")[: len(seeds)]
            at, scores = at.copy(), scores.copy()
            at[worst], scores[worst] = seeds, visits.score(seeds)
        finite = scores[np.isfinite(scores)]
        hottest = self._spec.temperature * (float(finite.std()) if len(finite) else 0.0)
        idle = 0
        for step in range(self._spec.steps):
            moved = self._space.neighbours(self._rng, at)
            found = visits.score(moved)
            heat = max(hottest * (1 - step / self._spec.steps), 1e-12)
            with np.errstate(invalid="ignore", over="ignore"):
                chance = np.exp(np.minimum(found - scores, 0.0) / heat)
            accepted = (found >= scores) | (self._rng.random(len(at)) < chance)
            at = np.where(accepted[:, None], moved, at)
            scores = np.where(accepted, found, scores)
            idle = 0 if visits.improved() else idle + 1
            if idle >= self._spec.patience:
                break
        self._at = at
        return visits.best()


class _Visits:
    """Remembers the scores of one walk, and the rows worth returning."""

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
