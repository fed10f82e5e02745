"""What a tuning run may cost: trials, seconds, or as much as still pays."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from tilewright.errors import ArgumentError
from tilewright.models.bounds import positive, within

LEAST_GAIN = 0.005  # of the whole time: what another batch of every task must promise
CONFIRMING = 0.1  # the most that timing the best again may take, as a share of the seconds


@dataclass(frozen=True, slots=True)
class Budget:
    """The ends of a run, of which the first counts: trials, seconds, and the least that pays.

    `least_gain` is a share of the time of the whole: a run ends when another batch of every task
    promises less. It has a value of its own where nothing else ends the run.
    """

    trials: int | None = None
    seconds: float | None = None
    least_gain: float | None = None

    def __post_init__(self) -> None:
        if self.trials is not None and not within(self.trials, 0, whole=True):
            raise ArgumentError(
                f"cannot tune with {self.trials!r} trials: give a whole number that is not "
                "negative, or nothing to go on until it stops paying."
            )
        if self.seconds is not None and not positive(self.seconds):
            raise ArgumentError(
                f"cannot tune for {self.seconds!r} seconds: give a number above 0, or nothing "
                "to go on until it stops paying."
            )
        if self.least_gain is not None and not (positive(self.least_gain) and self.least_gain < 1):
            raise ArgumentError(
                f"cannot tune with least_gain={self.least_gain!r}: give the share of the whole "
                f"time that further trials must promise, between 0 and 1, such as {LEAST_GAIN}."
            )
        if self.trials is None and self.seconds is None and self.least_gain is None:
            object.__setattr__(self, "least_gain", LEAST_GAIN)

    def start(self, clock: Callable[[], float] = time.monotonic) -> Meter:
        """Begin to count; `clock` tells seconds."""
        return Meter(self, clock, clock())


@dataclass(slots=True)
class Meter:
    """What was spent of a budget: `done` trials, and the seconds since `began`."""

    budget: Budget
    clock: Callable[[], float]
    began: float
    done: int = 0

    @property
    def elapsed(self) -> float:
        return self.clock() - self.began

    @property
    def pace(self) -> float:
        """Seconds a trial so far, all that is between them included; 0 before the first."""
        return self.elapsed / self.done if self.done else 0.0

    @property
    def spent(self) -> float:
        """The share of the trials or seconds that is spent, whichever is more; 0 without either."""
        trials, seconds = self.budget.trials, self.budget.seconds
        of_trials = 0.0 if trials is None else self.done / trials if trials else 1.0
        return max(of_trials, 0.0 if seconds is None else self.elapsed / seconds)

    @property
    def total(self) -> float:
        """How many trials it will be at this pace; inf where nothing tells."""
        trials, seconds = self.budget.trials, self.budget.seconds
        most = math.inf if trials is None else float(trials)
        return most if seconds is None or not self.done else min(most, seconds / self.pace)

    @property
    def seconds_left(self) -> float | None:
        """How long it will go on at this pace, None where nothing tells."""
        trials, seconds = self.budget.trials, self.budget.seconds
        ends = [] if seconds is None else [seconds - self.elapsed]
        if trials is not None and self.done:
            ends.append((trials - self.done) * self.pace)
        return max(0.0, min(ends)) if ends else None

    def room(self, count: int) -> int:
        """Return how many of `count` trials the budget of trials has room for."""
        return count if self.budget.trials is None else min(count, self.budget.trials - self.done)

    def over(self, reserve: float = 0.0) -> bool:
        """Whether the trials are spent, or the seconds but for `reserve` (a tenth at most)."""
        trials = self.budget.trials
        return (trials is not None and self.done >= trials) or self.late(reserve)

    def late(self, reserve: float = 0.0) -> bool:
        """Whether the seconds are spent, but for `reserve` (a tenth of them at most)."""
        seconds = self.budget.seconds
        return seconds is not None and self.elapsed >= seconds - min(reserve, CONFIRMING * seconds)

    def pays(self, promise: float) -> bool:
        """Whether a promised gain, as a share of the whole time, is worth going on for."""
        return self.budget.least_gain is None or promise >= self.budget.least_gain
