"""What those who watch a tuning run are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.records.trial import Failed, Measured, Outcome
from tilewright.tuning.session import Session


@dataclass(frozen=True, slots=True)
class Event:
    """One trial is done: trial `done` of `total`, of the task of `session`."""

    done: int
    total: int
    session: Session
    sessions: Sequence[Session]
    outcome: Outcome

    def __repr__(self) -> str:
        match self.outcome:
            case Measured():
                said = f"{self.outcome.median * 1e6:.4g} us"
            case Failed():
                said = f"{self.outcome.stage} {self.outcome.reason}"
        return f"Event({self.done}/{self.total}, {self.session.task.name}: {said})"


Watch = Callable[[Event], None]


def ignore(_: Event) -> None:
    """Watch nothing."""
