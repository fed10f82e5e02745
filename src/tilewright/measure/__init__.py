"""Honest times: candidates are built and run in processes of their own, which may crash or hang."""

from tilewright.measure.answer import Answer, Crashed, Raised, Reply, TimedOut

__all__ = ["Answer", "Crashed", "Raised", "Reply", "TimedOut"]
