"""Whether the machine had other work while it was tuned for: waiting threads then take long."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.tuning.session import Session

OFTEN = 0.15  # of the samples: what is interrupted more often is not believed
LOST = 0.2  # of the time: a network that is longer without a core is not, either


def busy(sessions: Sequence[Session]) -> str:
    """Say that another process often had a core that candidates needed, or "".

    On one thread a sample is taken again until nothing interrupted it, and finds its data cold.
    Several wait for the one that lost its core, at every loop that they share, and spinning they
    take more from it.
    """
    samples = sum(session.samples for session in sessions)
    interrupted = sum(session.interrupted for session in sessions)
    if interrupted <= OFTEN * samples:
        return ""
    threads = max(session.task.threads for session in sessions)
    long, instead = "too long", "and tune again"
    if threads > 1:
        long = f"much too long on {threads} threads"
        instead = (
            "tune on fewer threads, or set OMP_WAIT_POLICY=passive in the environment before the "
            "start"
        )
    return (
        f"the machine was busy: another process took a core during {interrupted} of {samples} "
        f"samples, and times may be {long}. End what else is running, {instead}."
    )


def without_core(lost: float) -> str:
    """Say that a network which was timed had no core for this share of the time, or ""."""
    if lost <= LOST:
        return ""
    return (
        f"the machine was busy: for {lost:.0%} of the time in which the network ran it had no "
        "core, and what seemed fastest there may not be. End what else is running, and call "
        "tilewright.rehearse(model, records) again."
    )
