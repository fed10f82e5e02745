"""op: a function that makes an expression becomes an operator, with a name and a template."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from tilewright.errors import ArgumentError
from tilewright.expr.tensor import Tensor
from tilewright.schedule.schedule import Schedule

# A function of (schedule, knob), or of (schedule, knob, target).
Template = Callable[..., Schedule]
T = TypeVar("T", bound=Template)


class Op:
    """Call it like the function: the expression that it returns knows its name and its template."""

    def __init__(self, make: Callable[..., Tensor]) -> None:
        self._make = make
        self._template: Template | None = None
        self.__name__ = make.__name__
        self.__doc__ = make.__doc__

    def __call__(self, *arguments: Any, **named: Any) -> Tensor:
        sizes = [*arguments, *named.values()]
        title = " ".join([self.__name__, " x ".join(map(str, sizes))]).strip()
        return replace(self._make(*arguments, **named), title=title, template=self._template)

    def template(self, function: T) -> T:
        """Use `function(schedule, knob)` as the space, instead of the one that is derived.

        A function of three arguments is given the target, too.
        """
        self._template = function
        return function


def op(make: Callable[..., Tensor]) -> Op:
    """Make an operator of a function that returns an expression.

    >>> import tilewright as tw
    >>> @op
    ... def scale(n: int):
    ...     a = tw.tensor("A", (n,))
    ...     return tw.compute("B", (n,), lambda i: a[i] * 2.0)
    >>> scale(8).title
    'scale 8'
    """
    if not callable(make):  # pyright: ignore[reportUnnecessaryComparison]
        raise ArgumentError(
            f"cannot make an operator of {make!r:.60} ({type(make).__name__}): give a function "
            "that returns an expression."
        )
    return Op(make)
