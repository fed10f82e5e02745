"""Evolution: a genetic algorithm on a score function, to be used inside of Guided."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.models.bounds import within
from tilewright.search.optimiser import Scorer, Visits
from tilewright.search.problem import demand
from tilewright.space.space import Population, Space


@dataclass(frozen=True, slots=True)
class Evolution:
    """Breed a population that stays between score functions.

    Each generation has as many children as the population: of two parents, each the better of two
    drawn at random, or for a share `1 - crossover` of one; and one knob of a share `mutation` of
    them is changed. The best of all are the next population, in which no row is twice. It ends
    early when for `patience` generations none of the rows it would return has changed. Few
    generations do, as the population stays from climb to climb; `immigrants` drawn at random join
    it each time, so that it does not end in one place.
    """

    population: int = 256
    generations: int = 8
    crossover: float = 0.7
    mutation: float = 0.6
    patience: int = 4
    immigrants: int = 128

    def __post_init__(self) -> None:
        demand(
            self,
            "population",
            within(self.population, 2, whole=True),
            "a whole number of at least 2",
        )
        demand(
            self, "generations", within(self.generations, 0, whole=True), "a whole number from 0"
        )
        demand(self, "crossover", within(self.crossover, 0, 1), "a share of children, from 0 to 1")
        demand(self, "mutation", within(self.mutation, 0, 1), "a share of children, from 0 to 1")
        demand(self, "immigrants", within(self.immigrants, 0, whole=True), "a whole number from 0")
        demand(
            self, "patience", within(self.patience, 1, whole=True), "a whole number of at least 1"
        )

    def begin(self, space: Space[Any], rng: np.random.Generator) -> Generations:
        """Draw the first population; the generations own `rng` from here on."""
        return Generations(self, space, rng)


class Generations:
    """The state of the population."""

    def __init__(self, spec: Evolution, space: Space[Any], rng: np.random.Generator) -> None:
        self._spec = spec
        self._space = space
        self._rng = rng
        self._alive = space.sample(rng, spec.population)

    def maximise(
        self,
        score: Scorer,
        n: int,
        exclude: Set[bytes] = frozenset(),
        seeds: Population | None = None,
    ) -> tuple[Population, NDArray[np.float64]]:
        """Breed, and return the `n` best rows met that are not in `exclude`, best first."""
        visits = Visits(self._space, score, exclude, n)
        fresh = self._space.sample(self._rng, self._spec.immigrants)
        alive = np.concatenate([self._alive, fresh, *([] if seeds is None else [seeds])])
        alive, scores = self._fittest(alive, visits)
        idle = 0
        for _ in range(self._spec.generations if len(alive) else 0):
            alive, scores = self._fittest(
                np.concatenate([alive, self._children(alive, scores)]), visits
            )
            idle = 0 if visits.improved() else idle + 1
            if idle >= self._spec.patience:
                break
        self._alive = alive
        return visits.best()

    def _children(self, alive: Population, scores: NDArray[np.float64]) -> Population:
        n, rng = self._spec.population, self._rng
        drawn = rng.integers(0, len(alive), (2, 2, n))
        first, second = (np.where(scores[a] >= scores[b], a, b) for a, b in drawn)
        children = alive[first]
        mixed = rng.random(n) < self._spec.crossover
        children[mixed] = self._space.crossover(rng, children[mixed], alive[second[mixed]])
        changed = rng.random(n) < self._spec.mutation
        children[changed] = self._space.neighbours(rng, children[changed])
        return children

    def _fittest(self, pop: Population, visits: Visits) -> tuple[Population, NDArray[np.float64]]:
        """Return the best different rows, as many as the population has, and their scores."""
        keys = self._space.keys(pop)
        pop = pop[list({key: i for i, key in enumerate(keys)}.values())]
        scores = visits.score(pop)
        best = np.argsort(-scores, kind="stable")[: self._spec.population]
        return pop[best], scores[best]
