"""Sums of products over any indices, in Einstein's notation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tilewright.expr.tensor as te
from tilewright.errors import ExpressionError
from tilewright.expr.scalar import Scalar
from tilewright.ops import fields, mixed


@dataclass(frozen=True)
class Einsum:
    """The product of X0, X1, … summed over the letters that the result has not: "ij,jk->ik".

    A letter that an operand has twice is its diagonal; an extent of 1 is repeated.
    """

    equation: str
    shapes: tuple[tuple[int, ...], ...]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        terms, result = self._terms
        extents = self._extents
        if (
            len(terms) != len(self.shapes)
            or any(len(t) != len(s) for t, s in zip(terms, self.shapes, strict=True))
            or len(set(result)) < len(result)
            or not set(result) <= set(extents)
            or any(
                n not in (1, extents[letter])
                for term, shape in zip(terms, self.shapes, strict=True)
                for letter, n in zip(term, shape, strict=True)
            )
        ):
            raise ExpressionError(
                f"einsum {self.equation!r} of {self.shapes}: give a letter for each dimension, "
                "with one extent everywhere, as in Einsum('ij,jk->ik', ((3, 4), (4, 5)))."
            )

    @property
    def name(self) -> str:
        shapes = " ".join("x".join(map(str, shape)) or "one" for shape in self.shapes)
        return f"einsum {self.equation} {shapes}{fields.of(self.dtype)}"

    @property
    def _terms(self) -> tuple[list[str], str]:
        left, _, result = self.equation.partition("->")
        return left.split(","), result

    @property
    def _extents(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for term, shape in zip(self._terms[0], self.shapes, strict=False):
            for letter, n in zip(term, shape, strict=False):
                found[letter] = max(found.get(letter, 1), n)
        return found

    def expression(self) -> te.Tensor:
        (terms, result), extents = self._terms, self._extents
        names = {letter: f"i{number}" for number, letter in enumerate(extents)}
        axes = {
            letter: te.Axis(names[letter], n, reduce=letter not in result)
            for letter, n in extents.items()
        }
        value: Scalar | None = None
        for number, (term, shape) in enumerate(zip(terms, self.shapes, strict=True)):
            tensor = te.tensor(f"X{number}", shape, self.dtype)
            at: Any = tuple(axes[a] if n > 1 else 0 for a, n in zip(term, shape, strict=True))
            factor = mixed.wide(tensor[at])
            value = factor if value is None else value * factor
        assert value is not None
        kept = tuple(axes[letter] for letter in result)
        over = [axis for letter, axis in axes.items() if letter not in result]
        total = te.stage("total", kept, te.sum(value, over) if over else value)
        if total.dtype == self.dtype:
            return total
        return te.stage("out", kept, te.cast(self.dtype, total[kept]))
