"""What a tuning run won: the tasks that take most of the time, before and after."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilewright.tuning.allocation import Outlook

if TYPE_CHECKING:
    from rich.table import Table

    from tilewright.tuning.session import Session

ROWS = 12  # tasks that are shown; `tilewright show` has all
_COLUMNS = ("times", "trials", "failed", "before ms", "after ms", "share", "GFLOP/s", "of peak")


def gains_table(sessions: Sequence[Session], peak: float | None) -> Table:
    """Lay out the heaviest tasks, by all the time that they take of the whole, and the total.

    Before is what ran first of a task, untuned. Tasks without a time are guessed for the order
    alone.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("task")  # in lines where it is long: names differ at their ends
    for column in _COLUMNS:
        table.add_column(column, justify="right", no_wrap=True)
    ranked = sorted(sessions, key=Outlook.of(sessions, peak).time, reverse=True)
    shown = ranked if len(ranked) <= ROWS + 1 else ranked[:ROWS]  # "1 more" takes a line as well
    whole = _after(sessions)
    for session in shown:
        speed = session.gflops
        table.add_row(
            Text(session.task.name),
            str(session.task.weight),
            *_sums([session], whole),
            f"{speed:.1f}" if speed else "-",
            f"{speed * 1e9 / peak:.0%}" if speed and peak else "-",
        )
    if len(shown) < len(ranked):
        rest = ranked[len(shown) :]
        table.add_row(f"{len(rest)} more", "", *_sums(rest, whole), "", "")
    if len(ranked) > 1:
        table.add_row("total", "", *_sums(ranked, whole), "", "", style="bold")
    return table


def _sums(sessions: Sequence[Session], whole: float) -> tuple[str, str, str, str, str]:
    """Say trials, failures, weighted ms before and after, and the share of the whole time."""
    before = sum(s.first * s.task.weight for s in sessions if math.isfinite(s.first))
    after = _after(sessions)
    return (
        str(sum(s.trials for s in sessions)),
        str(sum(s.failures.total() for s in sessions)),
        f"{before * 1e3:.4g}" if before else "-",
        f"{after * 1e3:.4g}" if after else "-",
        f"{after / whole:.0%}" if after else "-",
    )


def _after(sessions: Sequence[Session]) -> float:
    return sum(s.best * s.task.weight for s in sessions if math.isfinite(s.best))


def untried(sessions: Sequence[Session], peak: float | None) -> str:
    """Say which tasks got no trial, and how much of the whole time they are thought to take."""
    outlook = Outlook.of(sessions, peak)
    missed = sorted((s for s in sessions if not s.trials), key=outlook.time, reverse=True)
    if not missed:
        return ""
    share = sum(map(outlook.time, missed)) / (sum(map(outlook.time, sessions)) or 1.0)
    names = [s.task.name for s in missed[:ROWS]]
    rest = f"; {len(missed) - ROWS} more" if len(missed) > ROWS else ""
    plural = "s" * (len(missed) != 1)
    return (
        f"{len(missed)} task{plural} got no trial and will run untuned, some {share:.0%} of the "
        f"time by a guess: {'; '.join(names)}{rest}\n"
    )
