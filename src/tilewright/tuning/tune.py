"""Tuning: the paper's Algorithm 1, over one task or over many that share a budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tilewright.errors import ArgumentError
from tilewright.measure.local import Local, Measurer
from tilewright.records.store import Records
from tilewright.schedule.schedule import Schedule
from tilewright.search import Annealing, Guided
from tilewright.search.problem import Search
from tilewright.tuning.allocation import next_task
from tilewright.tuning.events import Event, Watch, ignore
from tilewright.tuning.session import Session
from tilewright.tuning.task import Task

DEFAULT: Search = Guided(optimiser=Annealing(chains=1024, steps=16, patience=8))
BATCH = 32


@dataclass(frozen=True)
class Result:
    """What tuning came to; `sessions` holds each task's curve, failures and best time."""

    sessions: tuple[Session, ...]
    records: Records

    @property
    def best(self) -> Schedule:
        """The fastest schedule of the (first) task."""
        return self.sessions[0].task.best(self.records)

    @property
    def curve(self) -> list[float]:
        """The best time of the (first) task in seconds, after each of its trials."""
        return self.sessions[0].curve

    @property
    def failures(self) -> dict[str, int]:
        """How many trials failed, by class, over all tasks."""
        total: dict[str, int] = {}
        for session in self.sessions:
            for kind, count in session.failures.items():
                total[kind] = total.get(kind, 0) + count
        return total


class Network(Protocol):
    """Anything that tuning means tasks for, such as a loaded model."""

    def tasks(self) -> Sequence[Task]: ...


def tune(
    tasks: Task | Iterable[Task] | Network,
    *,
    trials: int,
    records: Records | None = None,
    search: Search = DEFAULT,
    measure: Measurer | None = None,
    seed: int = 0,
    batch: int = BATCH,
    peak: float | None = None,
    watch: Watch = ignore,
) -> Result:
    """Search the space of each task, or of each task of a network, for its fastest
    schedule, spending `trials` measurements in all.

    Trials already on record count for the search but not for the budget, and are never repeated.
    Each batch is committed to `records` before the cost model learns from it. The same seed gives
    the same proposals for the same measurements.
    """
    if trials < 0:
        raise ArgumentError(
            f"cannot tune with {trials} trials: give a number that is not negative."
        )
    records = records or Records(":memory:")
    listed = _listed(tasks)
    sessions = tuple(Session.open(task, search, records, seed) for task in listed)
    measurer = measure or Local(threads=max((t.threads for t in listed), default=1))
    done = 0
    try:
        while done < trials:
            session = next_task(sessions, peak)
            if session is None:
                break  # every candidate of every space was measured
            candidates = session.propose(min(batch, trials - done))
            for outcome in session.run(candidates, measurer):
                done += 1
                watch(Event(done, trials, session, sessions, outcome))
    finally:
        if measure is None:
            measurer.close()
    return Result(sessions, records)


def _listed(tasks: Task | Iterable[Task] | Network) -> Sequence[Task]:
    if isinstance(tasks, Task):
        return (tasks,)
    return tuple(tasks if isinstance(tasks, Iterable) else tasks.tasks())
