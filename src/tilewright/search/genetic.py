"""Genetic: evolution of measured candidates, without a model; a baseline of the paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.models.bounds import within
from tilewright.search.history import History
from tilewright.search.problem import Problem, demand
from tilewright.space.space import Population


@dataclass(frozen=True, slots=True)
class Genetic:
    """Mix two of the `population` best, the better the likelier, and change a share of children.

    The first proposals, as many as the population, are random. `mutation` is the chance that one
    knob of a child is changed.
    """

    population: int = 64
    mutation: float = 0.5

    def __post_init__(self) -> None:
        demand(
            self,
            "population",
            within(self.population, 2, whole=True),
            "a whole number of at least 2",
        )
        demand(self, "mutation", within(self.mutation, 0, 1), "a chance, from 0 to 1")

    def start(self, problem: Problem, rng: np.random.Generator) -> GeneticSearcher:
        return GeneticSearcher(self, problem, rng)


class GeneticSearcher:
    _TRIES = 8  # rounds of children before the rest is drawn at random

    def __init__(self, spec: Genetic, problem: Problem, rng: np.random.Generator) -> None:
        self._spec = spec
        self._history = History(problem.space)
        self._rng = rng

    def ask(self, n: int) -> Population:
        parents = self._history.best(self._spec.population)
        claimed: list[Population] = []
        missing = n
        if len(parents) >= 2 and len(self._history) >= self._spec.population:
            for _ in range(self._TRIES):
                claimed.append(self._history.claim(self._children(parents, 2 * n), missing))
                missing -= len(claimed[-1])
                if missing <= 0:
                    break
        return np.concatenate([*claimed, self._history.draw(self._rng, missing)])

    def tell(self, rows: Population, scores: NDArray[np.float64]) -> None:
        self._history.tell(rows, scores)

    def _children(self, parents: Population, n: int) -> Population:
        """Pick parents by rank, the square of a uniform number favouring the first."""
        picks = (self._rng.random((2, n)) ** 2 * len(parents)).astype(np.intp)
        space = self._history.space
        children = space.crossover(self._rng, parents[picks[0]], parents[picks[1]])
        changed = self._rng.random(n) < self._spec.mutation
        children[changed] = space.neighbours(self._rng, children[changed])
        return children
