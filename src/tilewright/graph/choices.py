"""What a network does for each task: by what is on record, and what else is worth a try in it."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from tilewright.graph.budget import Way, algorithm, way_of
from tilewright.graph.construct import Constructor
from tilewright.graph.model import Model
from tilewright.records.store import Records, opened
from tilewright.records.trial import Choice, Trial
from tilewright.runtime.memory import physical
from tilewright.schedule.schedule import Schedule
from tilewright.tuning.balance import by_rows
from tilewright.tuning.task import Task

LOOK = 24  # the fastest trials of a task among which its candidates are
ALIKE = 6  # candidates that are fastest
KINDS = 3  # others, each the fastest of its kind
WORST = 1.5  # times the fastest: by itself a candidate takes no longer
MEMORY = 0.125  # the share of this machine's memory that the constants of all candidates may take


def schedules_of(records: Any) -> AbstractContextManager[Records]:
    """Return records that schedules are taken from, opened for a block if they are a path."""
    return opened(
        records,
        f"cannot take schedules from {records!r:.60}",
        "give Records, such as result.records, or the path of a database.",
    )


def usual(model: Model, tasks: Sequence[Task], records: Records | None) -> dict[str, Choice]:
    """Return what a network is compiled from, for each task on record by its key."""
    if records is None or not tasks:
        return {}
    of = {task.key: task for task in tasks}
    found = records.choices(
        known_as(model), tasks[0].where, lambda t: t.task in of and of[t.task].can_use(t)
    )
    for key, task in of.items():
        if key not in found and (best := task.best_trial(records)):
            found[key] = Choice(best)
    return found


def known_as(model: Model) -> str:
    """Return what networks of the same work, order and tolerance have in common."""
    keys = [work.operator.expression().digest for work in model.bound if work is not None]
    told = " ".join([f"{model.tolerance:g}", *keys])
    return hashlib.sha256(told.encode()).hexdigest()[:32]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A choice that may be made for a task, None where nothing is on record, and what it means."""

    choice: Choice | None
    way: Way


def candidates(
    model: Model, construct: Constructor, records: Records, late: float
) -> list[list[Candidate]]:
    """Return what is worth a turn for each task of a network, what is usual first.

    When it is `late` (`time.monotonic()`), no further trials are looked at.
    """
    now = usual(model, construct.tasks, records)
    return _affordable(
        [
            _of_task(task, now.get(task.key), records, held, late)
            for task, held in zip(construct.tasks, construct.held, strict=True)
        ]
    )


def _of_task(
    task: Task, now: Choice | None, records: Records, held: Mapping[str, int], late: float
) -> list[Candidate]:
    """Return what is worth a turn for a task, what is usual first.

    That is the fastest few trials, the fastest of other kinds, and on several threads what is
    fastest on one: little work may take longer to share out than to do.
    """
    found = [Candidate(now, way_of(task, now, held))]
    if now is None:
        return found
    if task.threads > 1:
        best = replace(task, threads=1).best_trial(records) or now.trial
        for choice in (Choice(now.trial), Choice(best, alone=True)):
            if choice != now:
                found.append(Candidate(choice, way_of(task, choice, held)))
    accept = _worth_a_turn(task, now.trial, found[0].way.schedule, late)
    for trial in records.fastest(task.key, now.trial.target, ALIKE + KINDS, accept):
        choice = Choice(trial)
        found.append(Candidate(choice, way_of(task, choice, held)))
    return found


def _worth_a_turn(task: Task, now: Trial, usual: Schedule, late: float) -> Callable[[Trial], bool]:
    """Return what accepts the next trials of a task, which come fastest first."""
    kinds = {_kind(now, usual)}
    alike, looked, longest = 1, 0, math.inf

    def accept(trial: Trial) -> bool:
        nonlocal alike, looked, longest
        assert trial.seconds is not None
        longest = min(longest, WORST * trial.seconds)
        looked += 1
        over = looked > LOOK or trial.seconds > longest or time.monotonic() > late
        schedule = None if over or trial.steps == now.steps else task.usable(trial)
        if schedule is None:
            return False
        kind = _kind(trial, schedule)
        near, other = alike < ALIKE, kind not in kinds and len(kinds) <= KINDS
        alike += near
        if near or other:
            kinds.add(kind)
        return near or other

    return accept


def _kind(trial: Trial, schedule: Schedule) -> tuple[object, ...]:
    """Return what tells apart schedules that a network may treat differently.

    That is their algorithm, how threads share the result, and what they copy.
    """
    nest = schedule.loops
    copied = sorted(b.source or b.name for b in nest.buffers if b.scope == "workspace")
    return algorithm(trial), by_rows(nest), tuple(copied)


def _affordable(choices: list[list[Candidate]]) -> list[list[Candidate]]:
    """Return as many candidates of each task as the memory holds the constants of."""
    room = MEMORY * physical()
    count = max(map(len, choices), default=0)
    while count > 1 and sum(c.way.nbytes for of in choices for c in of[:count]) > room:
        count -= 1
    return [of[:count] for of in choices]
