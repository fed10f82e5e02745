"""Which of many tasks gets the next trials: the one where most time of the whole is to be won."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tilewright.tuning.session import Session

LEAST = 8  # trials of a first batch, from which a cost model can learn
HOPELESS = 64  # trials of which none has run, after which a task is left alone
WINDOW = 48  # trials over which a task's progress is judged


def next_task(sessions: Sequence[Session], peak: float | None = None) -> Session | None:
    """Return the task with the greatest expected gain, or None if all are exhausted.

    Tasks that were never measured come first, the heaviest of them before the others. After that
    the gain of one more batch is guessed from two things: how much the last trials won, and how far
    the task is from `peak` (operations a second), which counts less the longer nothing was won.
    Both are weighted by how much of the whole time the task takes. A task of which nothing has run
    yet gets a first batch, and is then taken for one like the others, of less and less promise.
    """
    measured = [s for s in sessions if math.isfinite(s.best)]
    gains = sum(expected_gain(s, peak) for s in measured)
    typical = gains / sum(map(work, measured)) if measured else math.inf

    def gain(session: Session) -> float:
        if math.isfinite(session.best):
            return expected_gain(session, peak)
        if session.trials < LEAST:
            return math.inf
        left = session.trials < HOPELESS
        return work(session) * typical * LEAST / session.trials if left else 0.0

    open_sessions = [s for s in sessions if not s.exhausted]
    return max(open_sessions, key=lambda s: (s.trials == 0, gain(s), work(s)), default=None)


def work(session: Session) -> int:
    """Return how much work a task is before its time is known: operations, or bytes without any."""
    return session.task.weight * (session.task.flops or session.task.nbytes)


def share(trials: int, tasks: int, batch: int, *, first: bool) -> int:
    """Return how many candidates a task is given at once, of a budget of `trials` for all `tasks`.

    The first batches take half of the budget or less, if it is enough for one trial of each; the
    rest goes where most is to be won.
    """
    each = trials // (2 * tasks)
    if first:
        return min(batch, max(1, each))
    return batch if each >= LEAST else min(batch, LEAST)


def expected_gain(session: Session, peak: float | None) -> float:
    """Return the seconds of the whole that one more trial of a task with a time may win."""
    share = session.best * session.task.weight
    before = session.curve[max(0, len(session.curve) - WINDOW)]
    recent = (before - session.best) / before if math.isfinite(before) else 1.0
    floor = session.task.flops / peak if peak else 0.5 * session.best
    slack = max(0.05, 1.0 - floor / session.best)
    return share * (recent / WINDOW + slack / (session.trials + 16))
