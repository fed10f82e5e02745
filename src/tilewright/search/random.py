"""RandomSearch: the baseline that every other search has to beat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.search.history import History
from tilewright.search.problem import Problem
from tilewright.space.space import Population


@dataclass(frozen=True, slots=True)
class RandomSearch:
    """Draw uniformly from what has not been proposed; scores do not matter."""

    def start(self, problem: Problem, rng: np.random.Generator) -> RandomSearcher:
        return RandomSearcher(problem, rng)


class RandomSearcher:
    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        self._history = History(problem.space)
        self._rng = rng

    def ask(self, n: int) -> Population:
        return self._history.draw(self._rng, n)

    def tell(self, rows: Population, scores: NDArray[np.float64]) -> None:
        self._history.tell(rows, scores)
