"""Grid: one candidate after the other, as the space numbers them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.search.history import History
from tilewright.search.problem import Problem
from tilewright.space.space import Population

_LOOKED_AT = 1 << 18  # numbers that one `ask` goes through at most, before it draws at random
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True)
class Grid:
    """Go through the space by number, the last knob fastest; scores do not matter.

    `spread` begins at a random number and takes steps of about 0.618 of the space, so that any few
    trials lie evenly over all of it; without it nothing is random. Both meet every candidate once,
    and go on after what they are told of.
    """

    spread: bool = False

    def start(self, problem: Problem, rng: np.random.Generator) -> GridSearcher:
        return GridSearcher(self, problem, rng)


class GridSearcher:
    def __init__(self, spec: Grid, problem: Problem, rng: np.random.Generator) -> None:
        self._history = History(problem.space)
        self._rng = rng
        self._size = problem.space.size
        self._at = int(rng.random() * self._size) if spec.spread else 0
        self._step = _coprime(self._size) if spec.spread else 1
        self._left = self._size  # numbers not looked at

    def ask(self, n: int) -> Population:
        claimed = [np.empty((0, len(self._history.space.knobs)), np.int32)]
        missing, look = n, max(64, 2 * n)
        most = _LOOKED_AT
        while missing > 0 and self._left and most > 0:
            count = min(look, self._left, most)
            rows, most = self._next(count, missing), most - count
            missing -= len(rows)
            claimed.append(rows)
            look = min(2 * look, 1 << 14)
        # In a space with hardly a valid row at hand, random draws find one sooner.
        return np.concatenate([*claimed, self._history.draw(self._rng, missing)])

    def tell(self, rows: Population, scores: NDArray[np.float64]) -> None:
        self._history.tell(rows, scores)

    def _next(self, count: int, n: int) -> Population:
        """Claim the first `n` new valid rows of the next `count` numbers, and go past the last."""
        space = self._history.space
        numbers = [(self._at + i * self._step) % self._size for i in range(count)]
        rows = space.rows(np.array(numbers))  # of Python's integers, if there are so many
        valid = np.flatnonzero(space.valid(rows))
        fresh = [i for i in valid if space.keys(rows[i : i + 1])[0] not in self._history.seen][:n]
        passed = int(fresh[-1]) + 1 if len(fresh) == n else count
        self._at = (self._at + passed * self._step) % self._size
        self._left -= passed
        return self._history.claim(rows[fresh], n)


def _coprime(size: int) -> int:
    """Return a step near the golden section of a size that meets every number of it."""
    step = max(1, int(_GOLDEN * size))
    while math.gcd(step, size) > 1:
        step += 1
    return step
