"""A measurer that runs nothing: the time that a simple machine with one cache would take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tilewright.features.loops import COLUMNS, by_block
from tilewright.loops.nodes import Nest
from tilewright.measure.build import Request
from tilewright.records.trial import Measured, Outcome


@dataclass(frozen=True)
class Estimate:
    """Seconds for the rounds of all loops, by vectors, and for what the cache must load.

    A loop whose touched memory fits into `cache` (bytes) loads it once each time that it begins.
    """

    cache: float = 32e3
    bandwidth: float = 50e9  # bytes a second
    rate: float = 4e9  # rounds, of vectors or not, a second

    def measure(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        for request in requests:
            yield Measured((self.seconds(request.nest),))

    def close(self) -> None:
        """Nothing is held."""

    def seconds(self, nest: Nest) -> float:
        total = 0.0
        for (loops, _), contexts in by_block(nest, 1):
            table = np.exp2(np.reshape(contexts, (len(loops), len(COLUMNS)))) - 1
            column = dict(zip(COLUMNS, table.T, strict=True))
            rounds = np.prod([loop.extent for loop in loops if loop.kind != "vectorize"])
            loads = column["outer"] * column["touched"]
            fits = np.flatnonzero(column["touched"] <= self.cache)
            at = fits[:1] if len(fits) else slice(-1, None)  # the innermost, if none fits
            total += float(rounds) / self.rate + float(loads[at].sum()) / self.bandwidth
        return total
