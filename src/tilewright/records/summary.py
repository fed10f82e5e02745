"""What is known of a task on a target, in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.records.trial import Failed, Trial


@dataclass(frozen=True, slots=True)
class FailureClass:
    """How many candidates failed alike, and the message of the first."""

    stage: str
    reason: str
    count: int
    message: str


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """A task's trials counted; `flops` are those of one execution, 0 if unknown."""

    name: str
    key: str
    target: str
    flops: float
    trials: int
    failures: tuple[FailureClass, ...]
    best_seconds: float | None

    @property
    def failed(self) -> int:
        return sum(failure.count for failure in self.failures)

    @property
    def gflops(self) -> float | None:
        """The best trial's speed in 10^9 floating point operations a second."""
        if self.best_seconds is None or not self.flops:
            return None
        return self.flops / self.best_seconds / 1e9


def summarise(
    key: str, target: str, name: str, flops: float, trials: Sequence[Trial]
) -> TaskSummary:
    """Count the trials of a task; failures by class, the most frequent class first."""
    failures = [each.outcome for each in trials if isinstance(each.outcome, Failed)]
    first = {(f.stage, f.reason): f.message for f in reversed(failures)}
    counts = Counter((f.stage, f.reason) for f in failures).most_common()
    classes = tuple(FailureClass(*kind, count, first[kind]) for kind, count in counts)
    best = min((each.seconds for each in trials if each.seconds is not None), default=None)
    return TaskSummary(name, key, target, flops, len(trials), classes, best)
