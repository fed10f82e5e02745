"""What tuning is given, many tasks or a network, and what it comes to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, Protocol

from tilewright.errors import ArgumentError
from tilewright.expr.tensor import Tensor
from tilewright.records.store import Records
from tilewright.schedule.schedule import Schedule
from tilewright.tuning.busy import busy, without_core
from tilewright.tuning.session import Session
from tilewright.tuning.task import Operator, Task


class Network(Protocol):
    """Anything that tuning means tasks for, such as a loaded model."""

    def tasks(self) -> Sequence[Task]: ...


Tunable = Task | Tensor | Operator | Network | Iterable[Task | Tensor | Operator]


def each_once(what: Tunable, threads: int | None = None) -> Sequence[Task]:
    """Return different tasks: equal work, whatever it is called, is one with all the weight.

    `threads`, if given, is how many each task's measurements use.
    """
    listed: dict[tuple[str, str], Task] = {}
    for task in _tasks(what):
        task = task if threads is None else replace(task, threads=threads)
        same = listed.get((task.key, task.where))
        listed[(task.key, task.where)] = (
            task if same is None else replace(same, weight=same.weight + task.weight)
        )
    return tuple(listed.values())


def _tasks(what: Any) -> Iterable[Task]:
    if isinstance(what, Task):
        return (what,)
    if isinstance(what, str | PathLike):
        raise ArgumentError(
            f"cannot tune {os.fspath(what)!r}, a path: load the network first, as in "
            f"tune(load_onnx({os.fspath(what)!r}), ...)."
        )
    if isinstance(what, type):
        raise ArgumentError(f"cannot tune the class {what.__name__}: give an object of it.")
    if callable(getattr(what, "tasks", None)):
        return what.tasks()
    if isinstance(what, Iterable) and not isinstance(what, Tensor):
        return [t if isinstance(t, Task) else Task(t) for t in what]
    return (Task(what),)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What the best schedules of each task came to inside of their network.

    The seconds of the network `before` and `after` are medians, taken in turn; `changed` names the
    work that is done by another schedule since. `lost` is the share of the time of all runs in
    which the thread that began them had no core, or waited for the others.
    """

    before: float
    after: float
    changed: tuple[str, ...]
    lost: float = field(default=0.0, compare=False)

    @property
    def busy(self) -> str:
        """What to say if other processes took the core so often that it is in doubt, or ""."""
        return without_core(self.lost)

    def __str__(self) -> str:
        scale, unit = (1e3, "ms") if self.before >= 1e-3 else (1e6, "us")
        if not self.changed:
            return f"{self.before * scale:.3f} {unit}; no other schedules were faster there"
        count = f"{len(self.changed)} task{'s' * (len(self.changed) != 1)}"
        times = f"{self.before * scale:.3f} -> {self.after * scale:.3f} {unit}"
        return f"{times}, by other schedules for {count} than trials alone would choose"


@dataclass(frozen=True)
class Result:
    """What tuning came to; `sessions` holds each task's curve, failures and best time.

    `rehearsal` is that of a network; None where there was nothing to choose or too little time, or
    where it failed: `unrehearsed` says why then.
    """

    sessions: tuple[Session, ...]
    records: Records
    rehearsal: Rehearsal | None = None
    unrehearsed: str = ""

    def __repr__(self) -> str:
        names = [session.task.name for session in self.sessions]
        what = names[0] if len(names) == 1 else f"{len(names)} tasks"
        trials, failed = sum(s.trials for s in self.sessions), sum(self.failures.values())
        count = f"{trials} trial{'s' * (trials != 1)}"
        where = f"in {self.records!r}" + ", on a busy machine" * bool(self.busy)
        where += ", not rehearsed" * bool(self.unrehearsed)
        return f"Result({what}: {count}, {failed} failed, {where})"

    @property
    def best(self) -> Schedule:
        """The fastest schedule of the one task; ArgumentError if there are several."""
        return self._only("best", "session.task.best(result.records)").task.best(self.records)

    @property
    def curve(self) -> list[float]:
        """The best time of the one task in seconds, after each of its trials."""
        return self._only("curve", "session.curve").curve

    @property
    def busy(self) -> str:
        """What to say if other processes took cores so often that times are in doubt, or ""."""
        return busy(self.sessions) or (self.rehearsal.busy if self.rehearsal else "")

    def _only(self, what: str, each: str) -> Session:
        if len(self.sessions) != 1:
            raise ArgumentError(
                f"result.{what} is that of one task, and {len(self.sessions)} were tuned: ask each "
                f"session in result.sessions, as in [{each} for session in result.sessions]; "
                "a network is compiled with compile(model, result.records)."
            )
        return self.sessions[0]

    @property
    def failures(self) -> dict[str, int]:
        """How many trials failed, by class, over all tasks."""
        total: dict[str, int] = {}
        for session in self.sessions:
            for kind, count in session.failures.items():
                total[kind] = total.get(kind, 0) + count
        return total
