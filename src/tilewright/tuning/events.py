"""What those who watch a tuning run are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.records.trial import Failed, Measured, Outcome
from tilewright.tuning.session import Session


@dataclass(frozen=True, slots=True)
class Event:
    """One trial is done: trial `done` of `total`, of the task of `session`.

    `total` is None where no number of trials was asked for. `left` are the seconds that the run
    will go on, None where nothing tells. `promise` is what another batch of every task was thought
    to win when this one began, as a share of the time of the whole.
    """

    done: int
    total: int | None
    session: Session
    sessions: Sequence[Session]
    outcome: Outcome
    left: float | None = None
    promise: float = 0.0

    def __repr__(self) -> str:
        match self.outcome:
            case Measured():
                said = f"{self.outcome.median * 1e6:.4g} us"
            case Failed():
                said = f"{self.outcome.stage} {self.outcome.reason}"
        of = "" if self.total is None else f"/{self.total}"
        return f"Event({self.done}{of}, {self.session.task.name}: {said})"


Watch = Callable[[Event], None]


def ignore(_: Event) -> None:
    """Watch nothing."""
