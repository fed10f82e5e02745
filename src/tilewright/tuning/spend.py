"""Spending a budget: batch after batch where most is to be won, and then the last word."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from tilewright.measure.local import Measurer
from tilewright.tuning.allocation import Outlook, next_batch
from tilewright.tuning.budget import Meter
from tilewright.tuning.events import Event, Watch
from tilewright.tuning.finalists import MOST, confirm
from tilewright.tuning.kin import Kin
from tilewright.tuning.session import Session


def spend(
    sessions: Sequence[Session],
    meter: Meter,
    measurer: Measurer,
    *,
    batch: int,
    peak: float | None,
    watch: Watch,
    kin: Kin | None = None,
) -> None:
    """Measure until the budget is spent, until it stops paying, or until there is nothing left.

    Seconds are looked at after each candidate. Some are kept to time the best of each task again.
    What is fastest for `kin` is tried where it fits.
    """
    while not meter.over(_to_confirm(sessions, meter)):
        promise = Outlook.of(sessions, peak).promise(sessions, batch)
        chosen = next_batch(sessions, peak, batch=batch, spent=meter.spent, total=meter.total)
        if chosen is None:
            break  # every candidate of every space was measured
        session, count = chosen
        if session.trials and not meter.pays(promise):
            break
        rows = session.propose(meter.room(count), kin.configs(session) if kin else ())
        if meter.over(_to_confirm(sessions, meter)):  # proposing takes its time
            break
        with closing(session.run(rows, measurer)) as outcomes:
            for outcome in outcomes:
                meter.done += 1
                total, left = meter.budget.trials, meter.seconds_left
                watch(Event(meter.done, total, session, sessions, outcome, left, promise))
                if meter.over(_to_confirm(sessions, meter)):
                    break
    for session in _heaviest_first(sessions, peak):
        if session.fresh and not meter.late(MOST * meter.pace):
            confirm(session, measurer)


def _to_confirm(sessions: Sequence[Session], meter: Meter) -> float:
    """Guess the seconds that it takes to time the best of the tasks again."""
    return MOST * meter.pace * sum(session.fresh > 1 for session in sessions)


def _heaviest_first(sessions: Sequence[Session], peak: float | None) -> list[Session]:
    return sorted(sessions, key=Outlook.of(sessions, peak).time, reverse=True)
