"""How to compute it: one primitive a file; a schedule is an expression and a tuple of steps."""

from tilewright.schedule.schedule import Schedule

__all__ = ["Schedule"]
