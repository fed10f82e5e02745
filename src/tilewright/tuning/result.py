"""What tuning is given, many tasks or a network, and what it comes to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tilewright.records.store import Records
from tilewright.schedule.schedule import Schedule
from tilewright.tuning.session import Session
from tilewright.tuning.task import Task


class Network(Protocol):
    """Anything that tuning means tasks for, such as a loaded model."""

    def tasks(self) -> Sequence[Task]: ...


def each_once(tasks: Task | Iterable[Task] | Network) -> Sequence[Task]:
    """Return different tasks: equal work, whatever it is called, is one with all the weight."""
    if isinstance(tasks, Task):
        return (tasks,)
    listed: dict[tuple[str, str], Task] = {}
    for task in tasks if isinstance(tasks, Iterable) else tasks.tasks():
        same = listed.get((task.key, task.where))
        listed[(task.key, task.where)] = (
            task if same is None else replace(same, weight=same.weight + task.weight)
        )
    return tuple(listed.values())


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
