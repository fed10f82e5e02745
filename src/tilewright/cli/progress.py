"""The progress line of a tuning run."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from tilewright.search.guided import Quality
    from tilewright.tuning.events import Event
    from tilewright.tuning.session import Session

_EVERY = 10.0  # seconds between lines where there is no terminal
_BAR = 10  # characters of the bar


class Progress:
    """Shows trial k of n, candidates a second, time left, and the task at hand.

    Without a number of trials or seconds it says what more trials promise. On a terminal one line
    is redrawn; elsewhere a line is printed now and then. `done` and
    `sessions` are those of the last trial.
    """

    def __init__(self, out: Console, total: int | None, peak: float) -> None:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        self._out, self._peak = out, peak
        self._began = time.monotonic()
        self._printed = -math.inf  # the first trial is told at once
        self.done = 0
        self._unsaid = ""
        self.sessions: Sequence[Session] = ()
        self._bars = Bars(
            TextColumn("{task.fields[count]}"),
            BarColumn(bar_width=_BAR),
            TextColumn("{task.fields[pace]}"),
            TextColumn("{task.description}", markup=False),
            console=out,
            disable=not out.is_terminal,
        )
        self._bar = self._bars.add_task(
            "building the first candidates", total=total, count="", pace=""
        )

    def watch(self, event: Event) -> None:
        now = time.monotonic()
        self.done, self.sessions = event.done, event.sessions
        count = counted_off(event)
        pace = f"{event.done / max(now - self._began, 1e-9):.1f}/s, {prospect(event)}"
        text = describe(event, self._peak)
        last = event.total is not None and event.done >= event.total
        shown = "timing the best again, and in the network" if last else text
        self._bars.update(
            self._bar, completed=event.done, description=self._cut(shown, count + pace),
            count=count, pace=pace,
        )  # fmt: skip
        self._unsaid = f"{count}, {pace}, {text}"
        if last or now - self._printed > _EVERY:
            self._printed = now
            self._say()

    def _cut(self, text: str, beside: str) -> str:
        """Return what of a text a terminal has room for; the numbers beside it are whole."""
        room = max(1, self._out.width - len(beside) - _BAR - 3)
        return text if len(text) <= room else f"{text[: room - 1]}…"

    def _say(self) -> None:
        """Print the last line where none is redrawn."""
        if self._unsaid and not self._out.is_terminal:
            self._out.print(self._unsaid, markup=False)
            self._unsaid = ""

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()
        self._say()


def counted_off(event: Event) -> str:
    return f"trial {event.done}" + ("" if event.total is None else f"/{event.total}")


def prospect(event: Event) -> str:
    """Say how long it will take; where nothing tells, what it is still good for."""
    if event.left is None:
        return f"more trials promise {event.promise:.1%}"
    return f"{event.left / 60:.0f} min left" if event.left > 90 else f"{event.left:.0f} s left"


def describe(event: Event, peak: float) -> str:
    """Say where tuning is: the task, its best so far, how its model does, failures by class."""
    session = event.session
    share = session.gflops * 1e9 / peak if peak else 0.0
    failed = ", ".join(f"{n} {kind}" for kind, n in session.failures.items())
    if session.gflops:
        best = f"{session.gflops:.1f} GFLOP/s ({share:.0%} of peak)"
    elif math.isfinite(session.best):
        best = f"{session.best * 1e6:.4g} us"  # it moves data, and computes nothing
    else:
        best = "no result yet"
    model = judged(session.quality[-1]) if session.quality else ""
    return f"{session.task.name}: {best}{model}" + (f"; failed: {failed}" if failed else "")


def judged(quality: Quality) -> str:
    """Say how well the model ranked the last batch before it learnt from it."""
    if math.isnan(quality.accuracy):
        return ""
    return f"; model ranks {quality.accuracy:.0%} right" + ", not followed" * (not quality.followed)
