"""Which of many tasks gets the next trials: the one where most time of the whole is to be won."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.tuning.session import LEAST, Session
from tilewright.tuning.task import Task

HOPELESS = 64  # trials of which none has run, after which a task is left alone
PROBING = 0.125  # the share of a budget that may go into a first trial of each task
# Fitted to 36 guided runs of convolutions: what is to be won is (HALFWAY / (HALFWAY + n))^2 of
# what it was, after n trials.
HALFWAY = 24
TRUST = 48  # trials after which a task's own progress counts as much as its distance from the peak
SLACK = 0.05  # the least that is thought to be won of a task's time, even beyond the peak
UNTUNED = 2.0  # times the roofline: a task's time, before any was measured
PEAK = 1e11  # operations a second where no peak is known; only ratios count then
BYTE = 4  # operations at the peak in the time of a byte, read or written


def roofline(task: Task, peak: float | None) -> float:
    """Return the seconds that a task takes at least, by its operations and by its bytes."""
    return max(task.flops, BYTE * task.nbytes) / (peak or PEAK)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is expected of tasks: `pace` is by how much times exceed the roofline, on the whole."""

    peak: float | None
    pace: float

    @staticmethod
    def of(sessions: Sequence[Session], peak: float | None) -> Outlook:
        """Compare the times that were measured with the roofline; guess where there are none."""
        measured = [s for s in sessions if math.isfinite(s.best)]
        least = sum(roofline(s.task, peak) * s.task.weight for s in measured)
        if not least:
            return Outlook(peak, UNTUNED)
        return Outlook(peak, sum(s.best * s.task.weight for s in measured) / least)

    def time(self, session: Session) -> float:
        """Return the seconds a task takes of the whole, by a guess if it was never measured."""
        known = math.isfinite(session.best)
        seconds = session.best if known else self.pace * roofline(session.task, self.peak)
        return seconds * session.task.weight

    def gain(self, session: Session, trials: int) -> float:
        """Return the seconds of the whole that so many more trials of a task may win.

        What is to be won is the distance from the roofline, or what the last half of the trials
        tell by how much they won: the more trials, the more of the latter.
        """
        done = session.trials
        if not math.isfinite(session.best) and done >= HOPELESS:
            return 0.0
        slack = self._slack(session)
        trust = done / (done + TRUST)
        slack += trust * (_progress(session, slack) - slack)
        return self.time(session) * min(1.0, slack * (_left(done) - _left(done + trials)))

    def promise(self, sessions: Sequence[Session], trials: int) -> float:
        """Return what so many more trials of every task may win, as a share of the whole time."""
        total = sum(map(self.time, sessions))
        gains = sum(self.gain(s, trials) for s in sessions if not s.exhausted)
        return gains / total if total else 0.0

    def _slack(self, session: Session) -> float:
        """Return the share of a task's time that is above the roofline; half without a peak."""
        if not self.peak:
            return 0.5
        floor = roofline(session.task, self.peak) * session.task.weight
        return max(SLACK, 1.0 - floor / (self.time(session) or 1.0))


def next_batch(
    sessions: Sequence[Session],
    peak: float | None = None,
    *,
    batch: int,
    spent: float = 0.0,
    total: float = math.inf,
) -> tuple[Session, int] | None:
    """Return the task that is to get the next trials, and how many; None if all are exhausted.

    First each task is tried once, the heaviest before the others, as long as no more than an eighth
    of the budget is `spent` (a share). From then on the one with the greatest expected gain is
    next; one that was never tried is taken for what the roofline says. Of a `total` of few trials
    a task gets few at once, that there are turns for all that weigh something.
    """
    open_sessions = [s for s in sessions if not s.exhausted]
    if not open_sessions:
        return None
    outlook = Outlook.of(sessions, peak)
    untried = [s for s in open_sessions if s.trials == 0]
    if untried and spent < PROBING and len(sessions) > 1:
        return max(untried, key=outlook.time), 1
    count = _at_once([outlook.time(s) for s in sessions], total, batch)
    return max(open_sessions, key=lambda s: (outlook.gain(s, count), outlook.time(s))), count


def _at_once(times: Sequence[float], total: float, batch: int) -> int:
    """Return how many trials of a task are taken at once: two turns for all tasks that matter.

    Their number is that of equal tasks whose times would vary as little (inverse Simpson index).
    """
    squares = sum(t * t for t in times)
    matter = max(1.0, sum(times) ** 2 / squares) if squares else 1.0
    return int(min(batch, max(LEAST, total / (2 * matter))))


def _left(trials: float) -> float:
    """Return the share of what is to be won that is left after so many trials."""
    return (HALFWAY / (HALFWAY + trials)) ** 2


def _progress(session: Session, unknown: float) -> float:
    """Return what was to be won at first, by what the last half of the trials won of it."""
    done = session.trials
    before = session.curve[(done - 1) // 2] if session.curve else math.inf
    if not math.isfinite(before):
        return unknown
    return (1.0 - session.best / before) / (_left(done / 2) - _left(done))
