"""Annealing: parallel simulated annealing on a score function (section 3.3 of the paper)."""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.search.optimiser import Scorer, Visits
from tilewright.search.problem import demand
from tilewright.space.space import Population, Space


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
        visits = Visits(self._space, score, exclude, n)
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
