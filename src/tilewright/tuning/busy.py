"""Whether the machine had other work while it was tuned for: waiting threads then take long."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.tuning.session import Session

OFTEN = 0.2  # of the samples on several threads: what is interrupted more often is not believed


def busy(sessions: Sequence[Session]) -> str:
    """Say that another process often had a core that candidates on several threads needed, or "".

    On one thread a sample is taken again until nothing interrupted it. Threads wait for the one
    that lost its core, at every loop that they share, and spinning they take more from it.
    """
    threaded = [session for session in sessions if session.task.threads > 1]
    samples = sum(session.samples for session in threaded)
    interrupted = sum(session.interrupted for session in threaded)
    if interrupted <= OFTEN * samples:
        return ""
    threads = max(session.task.threads for session in threaded)
    return (
        f"the machine was busy: another process took a core during {interrupted} of {samples} "
        f"samples, and times on {threads} threads may be much too long. End what else is running, "
        "tune on fewer threads, or set OMP_WAIT_POLICY=passive in the environment before the start."
    )
