"""One candidate, tried once: what was run and what came of it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

_ERROR = 1.4826 * 1.2533  # of a deviation by median distance; of a median, by that of a mean
Stage: TypeAlias = Literal["schedule", "build", "run", "verify"]


@dataclass(frozen=True, slots=True)
class Measured:
    """A candidate that ran and gave the right answer.

    `seconds` holds every repeat, in the order in which they were taken; `error` is the greatest
    difference from the reference, in the units of the verification. `interrupted` repeats are there
    from which another process took a core at first; it is not kept on record.
    """

    seconds: tuple[float, ...]
    error: float = 0.0
    interrupted: int = field(default=0, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.seconds:
            raise ValueError("a measurement needs at least one repeat, but seconds is empty.")
        if not all(math.isfinite(second) and second > 0 for second in self.seconds):
            raise ValueError(f"times must be finite and above zero, but seconds is {self.seconds}.")

    @property
    def median(self) -> float:
        """The middle of the repeats in seconds: the time that a candidate is judged by."""
        return statistics.median(self.seconds)

    @property
    def noise(self) -> float:
        """How far the median may be off by chance, as a share of it; nan for a single repeat.

        Its standard error, by the median distance of the repeats from it: one that was disturbed
        does not count.
        """
        if len(self.seconds) < 2:
            return math.nan
        middle = self.median
        distance = statistics.median(abs(second - middle) for second in self.seconds)
        return _ERROR * distance / middle / math.sqrt(len(self.seconds))


@dataclass(frozen=True, slots=True)
class Failed:
    """A candidate that has no schedule, did not build or run to its end, or gave a wrong answer.

    `reason` is a class to count by, one word ("timeout", "crash", "wrong", "error", "slow");
    `message` is for a person: its first line says what happened.
    """

    stage: Stage
    reason: str
    message: str = ""

    def __str__(self) -> str:
        return f"{self.stage} {self.reason}: {self.message}"


Outcome: TypeAlias = Measured | Failed


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate of a task on a target, and its outcome.

    `config` (knob values) and `steps` (the schedule, enough to rebuild the kernel without its
    template; none if that raised) are plain JSON values; `task` and `target` are the keys of what
    was tuned and where.
    """

    task: str
    target: str
    config: Mapping[str, Any]
    steps: Sequence[Mapping[str, Any]]
    outcome: Outcome
    created: datetime = field(default_factory=_now)

    def __post_init__(self) -> None:
        if self.created.tzinfo is None:
            raise ValueError(f"created must carry a time zone, but is {self.created.isoformat()}.")

    @property
    def seconds(self) -> float | None:
        """The median of the repeats, or None if the candidate failed."""
        return self.outcome.median if isinstance(self.outcome, Measured) else None


@dataclass(frozen=True, slots=True)
class Choice:
    """What a network does for a task: as a trial did, or `alone`, on one thread of several."""

    trial: Trial
    alone: bool = False
