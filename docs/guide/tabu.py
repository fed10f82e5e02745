"""Tabu search: from where it stands to the best neighbour, never back to what it has just left."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.search import History, Problem
from tilewright.space.space import Population

REACH = 4  # how many knobs a proposal changes at most, before what is missing is drawn at random


@dataclass(frozen=True, slots=True)
class Tabu:
    """Measure neighbours, and move to the best of them, even if it is worse.

    The values that a move gave up are not proposed during the next `tenure` moves. After `patience`
    moves without a new best it begins again from a random batch.
    """

    tenure: int = 3
    patience: int = 6

    def start(self, problem: Problem, rng: np.random.Generator) -> TabuSearcher:
        return TabuSearcher(self, problem, rng)


class TabuSearcher:
    def __init__(self, spec: Tabu, problem: Problem, rng: np.random.Generator) -> None:
        self._spec = spec
        self._space = problem.space
        self._rng = rng
        self._history = History(problem.space)
        self._at: Population | None = None  # where it stands, a single row
        self._left: deque[Population] = deque(maxlen=spec.tenure)  # values given up, -1 elsewhere
        self._told: list[tuple[float, Population]] = []  # what was told since the last move
        self._best, self._idle = -np.inf, 0

    def tell(self, rows: Population, scores: NDArray[np.float64]) -> None:
        self._history.tell(rows, scores)
        self._told += [
            (s, row) for s, row in zip(scores.tolist(), rows, strict=True) if s > -np.inf
        ]

    def ask(self, n: int) -> Population:
        self._move()
        proposed: list[Population] = []
        missing = n
        if self._at is not None:
            near = np.tile(self._at, (4 * n, 1))
            for _ in range(REACH):
                near = self._space.neighbours(self._rng, near)
                proposed.append(self._history.claim(near[~self._is_tabu(near)], missing))
                missing -= len(proposed[-1])
        return np.concatenate([*proposed, self._history.draw(self._rng, missing)])

    def _move(self) -> None:
        """Go to the best row told since the last move, if one did not fail."""
        if not self._told:
            return
        score, row = max(self._told, key=lambda told: told[0])
        self._told = []
        if self._at is not None:
            self._left.append(np.where(row != self._at, self._at, -1))
        self._at = row
        self._idle = 0 if score > self._best else self._idle + 1
        self._best = max(score, self._best)
        if self._idle >= self._spec.patience:
            self._at, self._idle = None, 0
            self._left.clear()

    def _is_tabu(self, rows: Population) -> NDArray[np.bool_]:
        tabu = np.zeros(len(rows), bool)
        for values in self._left:
            tabu |= (rows == values).any(axis=1)
        return tabu
