"""History: what a searcher has proposed and been told, so that nothing is proposed twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import ArgumentError
from tilewright.space.space import Population, Space


class History:
    """The proposals of one search and their scores, in the order of first telling."""

    def __init__(self, space: Space[Any]) -> None:
        self.space = space
        self.seen: set[bytes] = set()
        self._told: dict[bytes, float] = {}

    def __len__(self) -> int:
        return len(self._told)

    def tell(self, rows: Population, scores: NDArray[np.float64]) -> None:
        """Keep scores; what is no number is a failure, and a row told again has its last score."""
        if rows.shape != (len(scores), len(self.space.knobs)):
            raise ArgumentError(
                f"cannot tell {len(scores)} scores of rows of shape {rows.shape}: give one score a "
                f"row, and rows of {len(self.space.knobs)} knobs."
            )
        for key, score in zip(self.space.keys(rows), scores.tolist(), strict=True):
            self.seen.add(key)
            self._told[key] = score if score > -np.inf else -np.inf

    @property
    def rows(self) -> Population:
        """All rows told."""
        return np.frombuffer(b"".join(self._told), np.int32).reshape(
            len(self._told), len(self.space.knobs)
        )

    @property
    def scores(self) -> NDArray[np.float64]:
        """Their scores, -inf where they failed."""
        return np.array(list(self._told.values()), np.float64)

    def score(self, row: Population) -> float | None:
        """Return the score told of one row, -inf if it failed; None if there is none yet."""
        return self._told.get(self.space.keys(row.reshape(1, -1))[0])

    def best(self, n: int) -> Population:
        """Return the up to `n` best rows that have not failed, best first."""
        scores = self.scores
        order = np.argsort(-scores, kind="stable")[:n]
        return self.rows[order[np.isfinite(scores[order])]]

    def claim(self, rows: Population, n: int) -> Population:
        """Return the first `n` rows never seen before, which they are from now on."""
        chosen: list[int] = []
        for i, key in enumerate(self.space.keys(rows)):
            if len(chosen) == n:
                break
            if key not in self.seen:
                self.seen.add(key)
                chosen.append(i)
        return rows[chosen]

    def draw(self, rng: np.random.Generator, n: int) -> Population:
        """Claim `n` rows at random; fewer only if no more can be found."""
        drawn = [np.empty((0, len(self.space.knobs)), np.int32)]
        missing, want = n, n
        while missing > 0:
            rows = self.space.sample(rng, want)
            drawn.append(self.claim(rows, missing))
            missing -= len(drawn[-1])
            if len(rows) < want:
                break
            want = 2 * want + 64
        return np.concatenate(drawn)


def without_failures(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give failed rows one finite score, a tenth of the range of the others below their worst."""
    finite = scores[np.isfinite(scores)]
    if not len(finite):
        return np.zeros(len(scores))
    spread = float(finite.max() - finite.min())
    return np.where(np.isfinite(scores), scores, finite.min() - (spread / 10 or 1.0))
