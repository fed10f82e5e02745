"""Every error a user can cause. Each message says what was asked, of what, why not, what to do."""

from __future__ import annotations


class TilewrightError(Exception):
    """Root of the errors raised on purpose; the command line prints them and exits with 2."""


class ExpressionError(TilewrightError):
    """A tensor expression that has no meaning."""


class ScheduleError(TilewrightError):
    """A schedule step that would change what the program computes, or cannot be applied."""


class SpaceError(TilewrightError):
    """A knob or configuration that does not fit its space."""


class CompileError(TilewrightError):
    """A loop nest for which no code can be generated."""


class ArgumentError(TilewrightError):
    """An argument that does not fit: a setting, a number, an object, an array."""


class TargetError(TilewrightError):
    """A machine that is unknown, or that cannot run the code."""


class RecordsError(TilewrightError):
    """A database that cannot be read, that another version wrote, or that lacks what is needed."""


class ModelError(TilewrightError):
    """A network or a cost model that cannot be loaded, saved, compiled or used."""
