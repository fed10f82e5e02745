"""Knobs: what a program asks its choices of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import Any, Literal, TypeVar

import numpy as np

from tilewright.errors import SpaceError
from tilewright.space.config import Value, freeze
from tilewright.space.factorise import factorisations

T = TypeVar("T")
_LONGEST = 7  # items of an order; 7! = 5040


@dataclass(frozen=True, slots=True)
class Knob:
    """A named choice. Values of size knobs are integers, and come as arrays in a population."""

    name: str
    kind: Literal["split", "size", "choice", "order", "flag", "branch"]
    options: tuple[Value, ...]
    when: tuple[tuple[str, Value], ...] = ()  # the ways that branches must have taken for it

    def __post_init__(self) -> None:
        if not self.options:
            raise SpaceError(f"{self.kind} {self.name!r} has no options; give at least one.")
        if len(set(self.options)) < len(self.options):
            raise SpaceError(f"{self.kind} {self.name!r} repeats an option: {self.options}.")

    def __str__(self) -> str:
        shown = " ".join(map(str, self.options[:6])) + (" …" if len(self.options) > 6 else "")
        only = "".join(f" if {name} is {value}" for name, value in self.when[-1:])
        return f"{self.name}: {self.kind} of {len(self.options)}{only}: {shown}"

    @property
    def structural(self) -> bool:
        """Whether programs may branch on the value, so that a population holds only one."""
        return self.kind not in ("split", "size")


class Knobs(ABC):
    """Declare and read choices; each call gives the knob's value in the candidate at hand.

    Which knobs a program asks for may depend on a `branch`, and on no other knob's value. Size
    knobs (`split`, `size`) are integers, or int64 arrays with one entry a candidate when a
    population is made at once: compute with them, do not branch on them. The others are structural:
    branch freely.
    """

    def split(
        self,
        name: str,
        extent: int,
        parts: int,
        *,
        max_inner: int | None = None,
        multiple: int = 1,
        between: bool = False,
    ) -> tuple[Any, ...]:
        """Choose factors of `extent`, outermost first (a size knob); their product is >= extent.

        The innermost is at most `max_inner` and a multiple of `multiple`. With `between` it may be
        one that does not divide the extent but wastes little, as registers ask for.
        """
        if isinstance(extent, np.ndarray):
            raise SpaceError(
                f"cannot split {name!r}: its extent depends on another knob; split the original "
                "loop into more parts instead."
            )
        options = factorisations(int(extent), parts, max_inner, multiple, between)
        return self._take(name, "split", options)

    def size(self, name: str, options: Sequence[int]) -> Any:
        """Choose one of some integers (a size knob)."""
        return self._take(name, "size", tuple(int(o) for o in options))

    def choice(self, name: str, options: Sequence[T]) -> T:
        """Choose one of some values: bool, int, float, str, None or tuples of these."""
        return self._take(name, "choice", tuple(freeze(o, name) for o in options))

    def order(self, name: str, items: Sequence[T]) -> tuple[T, ...]:
        """Choose an order of up to seven items; the first option is the order given."""
        if len(items) > _LONGEST:
            raise SpaceError(
                f"cannot order {len(items)} items in {name!r}: more than {_LONGEST} have too many "
                "orders to list; offer some with choice()."
            )
        return self._take(name, "order", _orders(tuple(freeze(i, name) for i in items)))

    def flag(self, name: str) -> bool:
        """Choose yes or no."""
        return self._take(name, "flag", (False, True))

    def branch(self, name: str, options: Sequence[str]) -> tuple[str, Knobs]:
        """Choose one of some ways, and get the knobs to ask on this way only.

        What is asked of these exists only for candidates that took the way; it is called
        `way.name`, so ways need not know each other's names.

        >>> from tilewright.space.space import Space
        >>> def program(knob):
        ...     way, knob = knob.branch("way", ("short", "long"))
        ...     return knob.size("steps", (1, 2, 3)) if way == "long" else 0
        >>> print(Space.declare(program))
        4 configurations before requirements
          way: branch of 2: short long
          long.steps: size of 3 if way is long: 1 2 3
        """
        if isinstance(options, str) or not isinstance(options, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise SpaceError(f"branch {name!r} of {options!r}: give its ways, as in ('a', 'b').")
        value = self._take(name, "branch", tuple(options))
        return value, Branch(self, name, value)

    def require(self, condition: Any) -> None:
        """Leave candidates out of the space for which `condition` (bool or bool array) is false.

        State requirements right after the knobs they need: a search only runs a program as far as
        its last one to know whether a candidate is in the space.
        """
        if not isinstance(condition, bool) and getattr(condition, "dtype", None) != np.bool_:
            raise SpaceError(
                f"cannot require {condition!r} ({type(condition).__name__}): give a condition, "
                "True or False or an array of these, as in knob.require(rows * columns <= 64)."
            )
        self._require(condition)

    @abstractmethod
    def _require(self, condition: Any) -> None: ...

    @abstractmethod
    def _take(
        self,
        name: str,
        kind: Any,
        options: tuple[Value, ...],
        when: tuple[tuple[str, Value], ...] = (),
    ) -> Any: ...


class Branch(Knobs):
    """The knobs of one way of a branch."""

    def __init__(self, outer: Knobs, name: str, way: str) -> None:
        self._outer, self._name, self._way = outer, name, way

    def _require(self, condition: Any) -> None:
        self._outer._require(condition)

    def _take(
        self,
        name: str,
        kind: Any,
        options: tuple[Value, ...],
        when: tuple[tuple[str, Value], ...] = (),
    ) -> Any:
        inner = tuple((f"{self._way}.{n}", value) for n, value in when)
        return self._outer._take(
            f"{self._way}.{name}", kind, options, ((self._name, self._way), *inner)
        )


@lru_cache(maxsize=256)
def _orders(items: tuple[Value, ...]) -> tuple[Value, ...]:
    return tuple(permutations(items))
