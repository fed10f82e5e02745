"""Networks whose tasks improve along known curves, and ways to share trials among their tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from tilewright.tuning.allocation import next_batch

PEAK = 1e11
LEVEL = 4  # trials between two improvements of a curve


@dataclass
class Simulated:
    """A task whose best time after k trials is floor * (1 + excess * (halfway / (halfway + k))^2).

    It has what allocation asks of a session. `share_of_peak` is that of the floor.
    """

    flops: float
    weight: int = 1
    share_of_peak: float = 0.8
    excess: float = 0.5
    halfway: float = 24.0
    nbytes: float = 0.0
    trials: int = 0
    best: float = math.inf
    curve: list[float] = field(default_factory=list[float])
    exhausted: bool = False

    @property
    def task(self) -> Any:
        return SimpleNamespace(weight=self.weight, flops=self.flops, nbytes=self.nbytes)

    def at(self, trials: int) -> float:
        level = (trials - 1) // LEVEL * LEVEL
        left = (self.halfway / (self.halfway + level)) ** 2
        floor = max(self.flops, 4 * self.nbytes) / PEAK / self.share_of_peak
        return self.weight * floor * (1 + self.excess * left)

    def run(self, count: int) -> None:
        for _ in range(count):
            self.trials += 1
            self.best = self.at(self.trials) / self.weight
            self.curve.append(self.best)

    @property
    def time(self) -> float:
        """The weighted time of what runs: without a trial that is the untuned schedule."""
        return self.at(max(1, self.trials))


Network = Sequence[Simulated]
Policy = Callable[[Network, int], Iterator[int]]


def total(network: Network) -> float:
    return sum(each.time for each in network)


def ours(network: Network, trials: int) -> Iterator[int]:
    done = 0
    while done < trials:
        chosen = next_batch(
            network,  # type: ignore[arg-type]
            PEAK, batch=32, spent=done / trials, total=trials,
        )  # fmt: skip
        assert chosen is not None
        session: Any = chosen[0]
        for _ in range(min(chosen[1], trials - done)):
            session.run(1)
            done += 1
            yield done


def equal(network: Network, trials: int) -> Iterator[int]:
    for done in range(trials):
        network[done % len(network)].run(1)
        yield done + 1


def oracle(network: Network, trials: int) -> Iterator[int]:
    """Each step goes where a known curve wins most for a trial, however far one has to look."""
    done = 0

    def promise(each: Simulated) -> tuple[float, int]:
        k = max(1, each.trials)
        steps = (1, 4, 8, 16, 32)
        return max(((each.at(k) - each.at(k + n)) / n, n) for n in steps)

    while done < trials:
        best = max(network, key=lambda each: promise(each)[0])
        for _ in range(min(promise(best)[1], trials - done)):
            best.run(1)
            done += 1
            yield done


def spent(policy: Policy, network: Network, trials: int) -> list[float]:
    """Return the total time of a network after each trial that a policy gives out."""
    return [total(network) for _ in policy(network, trials)]


def convolutions() -> Network:
    """Twenty layers of different sizes and promise, as of a small residual network."""
    rng = np.random.default_rng(1)
    made = zip(
        2e8 * 2.0 ** rng.uniform(-4, 0, 20),
        rng.integers(1, 5, 20).tolist(),
        rng.uniform(0.3, 0.95, 20),
        rng.uniform(0.05, 1.5, 20),
        rng.uniform(8, 48, 20),
        strict=True,
    )
    return [Simulated(*values) for values in made]


def with_crumbs() -> Network:
    """Six layers, and 120 operators that take hardly any time beside them."""
    heavy = [Simulated(flops=1e8 * (n + 1), excess=0.8, halfway=30) for n in range(6)]
    crumbs = [Simulated(flops=1e3, nbytes=2e3 * (1 + n % 7), share_of_peak=0.4) for n in range(120)]
    return [*crumbs, *heavy]


def alike() -> Network:
    """Ten layers with nothing to tell them apart: equal shares are right."""
    return [Simulated(flops=1e8) for _ in range(10)]
