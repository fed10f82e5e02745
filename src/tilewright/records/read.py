"""What was read from a row or a line becomes a trial only if it is whole: nothing is trusted."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from tilewright.records.trial import Failed, Measured, Outcome, Trial

_DEPTH = 32  # how deep the values of a config and of steps may lie in each other
_INTEGERS = 1 << 63


class Damaged(ValueError):  # noqa: N818 - why a value is none, and no error of the program's
    """Says what of a row or a line is not as it was written."""


def task_values(name: Any, flops: Any) -> tuple[str, float]:
    """Return the name and flops of a task; raise `Damaged`."""
    value = number("flops", flops)
    if value < 0:
        raise Damaged(f"flops is {value}, below zero")
    return text("name", name), value


def read_trial(
    task: Any, target: Any, config: Any, steps: Any, outcome: Outcome, created: Any
) -> Trial:
    """Return a trial of these parts, its time in UTC; raise `Damaged` that names a bad one."""
    if not isinstance(config, dict):
        raise Damaged(f"config is {_shown(config)}, no object")
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise Damaged(f"steps is {_shown(steps)}, no list of objects")
    if not all(isinstance(step.get("places", {}), dict) for step in steps):
        raise Damaged("the places of a step are no object")
    if not isinstance(created, datetime) or created.tzinfo is None:
        raise Damaged(f"created is {_shown(created)}, no time with its zone")
    try:
        created = created.astimezone(UTC)
    except OverflowError:
        raise Damaged(f"created is {created.isoformat()}, which UTC cannot hold") from None
    _plain("config", config, 0)
    _plain("steps", steps, 0)
    return Trial(text("task", task), text("target", target), config, steps, outcome, created)


def measured(seconds: Any, error: Any) -> Measured:
    """Return a measurement; raise `Damaged`."""
    if not isinstance(seconds, list):
        raise Damaged(f"seconds is {_shown(seconds)}, no list")
    try:
        return Measured(tuple(number("seconds", s) for s in seconds), number("error", error, True))
    except ValueError as problem:
        raise Damaged(str(problem).rstrip(".")) from None


def failed(stage: Any, reason: Any, message: Any) -> Failed:
    """Return a failure; raise `Damaged`."""
    kind: Any = text("stage", stage)
    return Failed(kind, text("reason", reason), text("message", message))


def text(what: str, value: Any) -> str:
    """Return a text that can be stored; raise `Damaged`."""
    if not isinstance(value, str):
        raise Damaged(f"{what} is {_shown(value)}, no text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Damaged(f"{what} holds half a character: {_shown(value)}") from None
    return value


def number(what: str, value: Any, endless: bool = False) -> float:
    """Return a float, finite unless it may be `endless`; raise `Damaged`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Damaged(f"{what} is {_shown(value)}, no number")
    try:
        made = float(value)
    except OverflowError:
        made = math.inf
    if not endless and not math.isfinite(made):
        raise Damaged(f"{what} is {_shown(value)}, which is not finite")
    return made


def _plain(what: str, value: Any, depth: int) -> None:
    """Check that a value and all in it are what JSON holds, and what this program can work with."""
    if depth > _DEPTH:
        raise Damaged(f"{what} is nested deeper than {_DEPTH} levels")
    match value:
        case str():
            text(what, value)
        case int() if not -_INTEGERS <= value < _INTEGERS:
            raise Damaged(f"{what} holds an integer of more than 64 bits")
        case dict() if what == "config" and depth:
            raise Damaged("config holds an object as a value")
        case dict():
            for key, inner in value.items():
                _plain(what, text(what, key), depth)
                _plain(what, inner, depth + 1)
        case list():
            for inner in value:
                _plain(what, inner, depth + 1)
        case _:
            pass


def _shown(value: Any) -> str:
    """Return a value as it can stand in a message: short, and without what cannot be printed."""
    try:
        shown = ascii(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits
        shown = f"a {type(value).__name__}"
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
