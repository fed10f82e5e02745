"""What can come of a request to a worker process."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Any, TypeAlias

from tilewright.errors import TilewrightError

# Longer texts lose their middle: the head names the failure, the tail says where.
_TEXT_LIMIT = 8_000


@dataclass(frozen=True, slots=True)
class Reply:
    """The worker's function returned `value`."""

    value: Any


@dataclass(frozen=True, slots=True)
class Raised:
    """The worker's function raised; the worker lives on."""

    message: str


@dataclass(frozen=True, slots=True)
class TimedOut:
    """No answer came within `seconds`; the worker's process group was killed."""

    seconds: float
    stderr: str = ""

    @property
    def message(self) -> str:
        return _with(f"no answer within {self.seconds:g} s", self.stderr)


@dataclass(frozen=True, slots=True)
class Crashed:
    """The worker's process ended before it answered, by a signal ("SIGSEGV") or an exit."""

    cause: str
    stderr: str = ""

    @property
    def message(self) -> str:
        return _with(f"the process ended by {self.cause}", self.stderr)


Answer: TypeAlias = Reply | Raised | TimedOut | Crashed


def describe(error: BaseException) -> str:
    """Say what was raised in the first line, and for errors not meant for users also where."""
    if isinstance(error, TilewrightError):
        return shorten(str(error))
    title = "".join(traceback.format_exception_only(error)).strip()
    return shorten(_with(title, "".join(traceback.format_tb(error.__traceback__))))


def shorten(text: str) -> str:
    """Cut the middle out of a text that is too long to keep."""
    if len(text) <= _TEXT_LIMIT:
        return text
    half = _TEXT_LIMIT // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"


def _with(title: str, detail: str) -> str:
    return f"{title}\n{detail.strip()}" if detail.strip() else title
