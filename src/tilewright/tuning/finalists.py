"""The last word: the best few of a task timed again in turn, so that luck does not choose."""

from __future__ import annotations

from tilewright.measure.local import Measurer
from tilewright.records.trial import Measured, Trial
from tilewright.tuning.session import Session

FINALISTS = 3
ROUNDS = 2
MOST = FINALISTS * ROUNDS  # measurements for a task
NEAR = 1.1  # times the best: what is slower does not win by being timed again


def confirm(session: Session, measurer: Measurer) -> None:
    """Time the best trials of a task `ROUNDS` times more, in turn; their repeats go on record.

    The best time of the session is then the winner's.

    The schedule that was picked without measuring is among the trials (the first of them), so what
    wins here is not slower than it.
    """
    task = session.task
    fastest = session.records.fastest(task.key, task.where, FINALISTS, task.can_use)
    finalists = [t for t in fastest if _seconds(t) <= NEAR * _seconds(fastest[0])]
    if len(finalists) < 2:
        return
    turns = [t for _ in range(ROUNDS) for t in finalists]
    requests = (task.request(task.recorded(t)) for t in turns)
    for trial, outcome in zip(turns, measurer.measure(requests), strict=True):
        if isinstance(outcome, Measured):
            session.records.extend(trial, outcome.seconds)
    (best,) = session.records.fastest(task.key, task.where, 1, task.can_use)
    session.best = _seconds(best)


def _seconds(trial: Trial) -> float:
    assert trial.seconds is not None
    return trial.seconds
