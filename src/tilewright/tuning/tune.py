"""Tuning: the paper's Algorithm 1, over one task or over many that share a budget."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from tilewright.errors import ArgumentError
from tilewright.measure.local import Local, Measurer
from tilewright.records.store import Records
from tilewright.search import Annealing, Guided
from tilewright.search.problem import Search
from tilewright.tuning.allocation import next_task
from tilewright.tuning.events import Event, Watch, ignore
from tilewright.tuning.finalists import confirm
from tilewright.tuning.result import Network, Result, each_once
from tilewright.tuning.session import Session
from tilewright.tuning.task import Task

DEFAULT: Search = Guided(optimiser=Annealing(chains=1024, steps=16, patience=8))
BATCH = 32


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
    """Search the space of each task for its fastest schedule, with `trials` measurements in all.

    Trials already on record count for the search but not for the budget, and are never repeated.
    Each batch is committed to `records` before the cost model learns from it. At the end the best
    of each task are timed again in turn. `peak` (operations a second) helps to share the budget.
    The same seed gives the same proposals for the same measurements.
    """
    if trials < 0:
        raise ArgumentError(
            f"cannot tune with {trials} trials: give a number that is not negative."
        )
    if batch < 1:
        raise ArgumentError(f"cannot tune in batches of {batch}: give a number of at least 1.")
    if seed < 0:
        raise ArgumentError(f"cannot tune with seed {seed}: give a number that is not negative.")
    records = records or Records(":memory:")
    listed = each_once(tasks)
    sessions = tuple(Session.open(task, search, records, seed) for task in listed)
    measurer = measure or Local(threads=max((t.threads for t in listed), default=1))
    done = 0
    try:
        while done < trials:
            session = next_task(sessions, peak)
            if session is None:
                break  # every candidate of every space was measured
            first = trials // (2 * len(sessions)) if session.trials == 0 else batch
            candidates = session.propose(min(batch, max(8, first), trials - done))
            with closing(session.run(candidates, measurer)) as outcomes:
                for outcome in outcomes:
                    done += 1
                    watch(Event(done, trials, session, sessions, outcome))
        for session in sessions:
            if session.fresh:
                confirm(session, measurer)
    finally:
        if measure is None:
            measurer.close()
    return Result(sessions, records)
