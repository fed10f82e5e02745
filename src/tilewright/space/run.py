"""Runs of a program: one that learns its knobs, and one that gives them values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import SpaceError
from tilewright.space.config import Value
from tilewright.space.knobs import Knob, Knobs


class Decided(BaseException):
    """Ends a program once its requirements are answered. Not an Exception: nobody catches it."""


class Declaration(Knobs):
    """Collects the knobs a program asks for, and answers with what `pick` chooses of each.

    `ways` says which way to take at branches; `knobs` are those that other ways asked for.
    """

    def __init__(
        self, pick: Callable[[Knob], int], ways: Mapping[str, Value], knobs: Mapping[str, Knob]
    ) -> None:
        self.knobs = dict(knobs)
        self.met = True
        self.values: dict[str, Any] = {}
        self._pick = pick
        self._ways = ways

    def _require(self, condition: Any) -> None:
        self.met = self.met and bool(np.all(condition))

    def _take(
        self,
        name: str,
        kind: Any,
        options: tuple[Value, ...],
        when: tuple[tuple[str, Value], ...] = (),
    ) -> Any:
        knob = self.knobs.setdefault(name, Knob(name, kind, options, when))
        if (knob.kind, knob.options, knob.when) != (kind, options, when):
            raise SpaceError(
                f"knob {name!r} is asked for twice with other options; give the second its own "
                f"name.\n  first:  {knob}\n  second: {Knob(name, kind, options, when)}"
            )
        if name not in self.values:
            way = self._ways.get(name)
            self.values[name] = options[self._pick(knob)] if way is None else way
        return self.values[name]


class Run(Knobs):
    """Gives each knob its value and keeps which candidates meet the requirements.

    `values` are plain for one candidate and arrays for `count` of them. The program is ended as
    soon as no candidate is left (unless `lenient`), or after `enough` requirements.
    """

    def __init__(
        self,
        knobs: Mapping[str, Knob],
        values: Mapping[str, Any],
        count: int = 1,
        enough: int | None = None,
        lenient: bool = False,
    ) -> None:
        self.met: NDArray[np.bool_] = np.ones(count, bool)
        self.asked = 0
        self._knobs = knobs
        self._values = values
        self._enough = enough
        self._lenient = lenient
        self._taken: set[str] = set()

    def _require(self, condition: Any) -> None:
        self.asked += 1
        self.met &= np.asarray(condition, bool)
        if self.asked == self._enough or not (self.met.any() or self._lenient):
            raise Decided

    def finish(self) -> None:
        """Check that the program has asked for every knob."""
        missing = [
            name
            for name, knob in self._knobs.items()
            if name not in self._taken and all(self._values.get(n) == v for n, v in knob.when)
        ]
        if missing:
            raise _unstable(missing[0], self._values, "is not asked for")

    def _take(
        self,
        name: str,
        kind: Any,
        options: tuple[Value, ...],
        when: tuple[tuple[str, Value], ...] = (),
    ) -> Any:
        declared = self._knobs.get(name)
        if declared is None:
            raise _unstable(name, self._values, "was not declared")
        same = declared.options is options or declared.options == options
        if (declared.kind, declared.when) != (kind, when) or not same:
            raise _unstable(name, self._values, "has other options")
        self._taken.add(name)
        return self._values[name]


def column(knob: Knob, table: NDArray[np.int64] | None, choices: NDArray[np.int32]) -> Any:
    """Return a knob's value in a group of candidates: arrays for a size knob, else the one value.

    `table` holds a size knob's options, one row a part.
    """
    if table is None:
        return knob.options[int(choices[0])]
    if knob.kind == "size":
        return table[0][choices]
    return tuple(part[choices] for part in table)


def table(knob: Knob) -> NDArray[np.int64] | None:
    """Return a size knob's options as an array with a row a part; None for a structural knob."""
    if knob.structural:
        return None
    options: Sequence[Any] = knob.options
    return np.ascontiguousarray(np.array(options, np.int64).reshape(len(options), -1).T)


def _unstable(name: str, values: Mapping[str, Any], how: str) -> SpaceError:
    shown = ", ".join(f"{n}={v}" for n, v in values.items() if not _holds_arrays(v))
    return SpaceError(
        f"knob {name!r} {how} in a candidate with {shown or 'other values'}: the knobs of a "
        "program may not depend on a knob's value, except by branch(); ask for all of them first."
    )


def _holds_arrays(value: Any) -> bool:
    parts: Sequence[Any] = value if isinstance(value, tuple) else (value,)
    return any(isinstance(part, np.ndarray) for part in parts)
