"""Tuning: the paper's Algorithm 1, over one task or over many that share a budget."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.errors import ArgumentError, RecordsError, TilewrightError
from tilewright.measure.local import Local, Measurer
from tilewright.measure.peak import peak as measured_peak
from tilewright.models.bounds import positive, within
from tilewright.records.store import Records
from tilewright.runtime.artifact import check_runs_here
from tilewright.runtime.threads import checked
from tilewright.search import Guided
from tilewright.search.problem import Search
from tilewright.target import host
from tilewright.tuning.budget import Budget
from tilewright.tuning.events import Watch, ignore
from tilewright.tuning.kin import Kin
from tilewright.tuning.result import Result, Tunable, each_once
from tilewright.tuning.session import Session
from tilewright.tuning.spend import spend

DEFAULT: Search = Guided()
BATCH = 32
REHEARSING = 0.1  # the share of a number of seconds in which schedules are timed in their network
MOST_REHEARSING = 30.0  # seconds


def tune(
    tasks: Tunable,
    *,
    trials: int | None = None,
    seconds: float | None = None,
    least_gain: float | None = None,
    records: Records | str | Path | None = None,
    search: Search = DEFAULT,
    measure: Measurer | None = None,
    seed: int = 0,
    batch: int = BATCH,
    threads: int | None = None,
    peak: float | None = None,
    watch: Watch = ignore,
    kin: bool = True,
) -> Result:
    """Search the space of each task for its fastest schedule, until the budget is spent.

    `tasks` are a network, a task, an expression, an operator, or several of these. The budget is
    so many more `trials`, so many `seconds` from the call on, or both: what ends first. With
    neither, tuning goes on until it stops paying: until another batch of every task promises to win
    less than `least_gain` of the time of the whole (0.005 if it is not given; if it is, it ends
    runs of so many trials or seconds as well). Trials go where most time is to be won.

    Trials already on record count for the search but not for the budget, and are never repeated.
    Each batch is committed to `records` (a path is opened, and stays open in the result) before the
    cost model learns from it. At the end the best of each task are timed again in turn, and those
    of a network inside of it (`rehearse`), unless `measure` is given.

    `threads` is how many a measurement uses, if not what each task says (one). `peak` (operations a
    second, measured if it is not given) helps to share the budget, and goes on record. `watch` is
    called with an `Event` after each trial. With `kin`, what is fastest for other tasks, of this
    run or on record, is tried where it fits. The same seed gives the same proposals for the same
    measurements and records. Raise TargetError for a target that cannot run here, unless `measure`
    is given, which runs candidates where it wants to.
    """
    budget = Budget(trials, seconds, least_gain)
    _check(batch, seed, search, peak, measure, watch)
    rehearse = getattr(tasks, "rehearse", None) if measure is None else None
    if rehearse and seconds is not None:
        budget = replace(budget, seconds=(1 - REHEARSING) * seconds)
    meter = budget.start()
    listed = each_once(tasks, None if threads is None else checked(threads, 1))
    if not listed and not callable(getattr(tasks, "tasks", None)):  # a network may have none
        raise ArgumentError(
            f"cannot tune {tasks!r:.80}, which holds no task: give one or more tasks, expressions "
            "or operators, or a network."
        )
    if trials != 0 and (measure is None or isinstance(measure, Local)):
        for task in listed:
            check_runs_here(task.target)
    opened = _open(records)
    most = max((t.threads for t in listed), default=1)
    if peak is None and measure is None and trials != 0 and all(t.target == host() for t in listed):
        peak = measured_peak(threads=most)
    sessions = tuple(Session.open(task, search, opened, seed) for task in listed)
    if peak is not None:
        for where in {task.where for task in listed}:
            opened.set_peak(where, peak)
    measurer = measure or Local(threads=most)
    try:
        known = Kin.of(sessions, opened) if kin and trials != 0 else None
        spend(sessions, meter, measurer, batch=batch, peak=peak, watch=watch, kin=known)
    finally:
        if measure is None:
            measurer.close()
    if not rehearse or not meter.done:
        return Result(sessions, opened)
    left = MOST_REHEARSING if seconds is None else min(MOST_REHEARSING, seconds - meter.elapsed)
    try:
        return Result(sessions, opened, rehearse(opened, most, left) if left > 0 else None)
    except RecordsError:  # what was measured may be lost
        raise
    except TilewrightError as error:
        return Result(sessions, opened, unrehearsed=str(error))


def _check(batch: Any, seed: Any, search: Any, peak: Any, measure: Any, watch: Any) -> None:
    if not within(batch, 1, whole=True):
        raise ArgumentError(
            f"cannot tune in batches of {batch!r}: give a whole number of at least 1."
        )
    if not within(seed, 0, whole=True):
        raise ArgumentError(
            f"cannot tune with seed {seed!r}: give a whole number that is not negative."
        )
    if isinstance(search, type) or not callable(getattr(search, "start", None)):
        shown = search.__name__ if isinstance(search, type) else repr(search)
        raise ArgumentError(
            f"cannot search with {shown}: give a spec, such as search.RandomSearch() or "
            "search.Guided()."
        )
    if peak is not None and not positive(peak):
        raise ArgumentError(
            f"cannot tune with peak={peak!r}: give operations a second, more than none, or nothing "
            "to have it measured."
        )
    if isinstance(measure, type) or (measure is not None and not hasattr(measure, "measure")):
        raise ArgumentError(
            f"cannot measure with {measure!r:.80}: give a Measurer, such as measure.Local()."
        )
    if not callable(watch):
        raise ArgumentError(
            f"cannot watch with {watch!r:.80}: give a function of an Event, such as print."
        )


def _open(records: Records | str | Path | None) -> Records:
    if records is None:
        return Records(":memory:")
    if isinstance(records, str | Path):
        return Records(records)
    if not isinstance(records, Records):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"cannot keep trials in {records!r} ({type(records).__name__}): give Records, or the "
            "path of a database."
        )
    return records
