"""GELU and its kin, however they are written: products of x and erf(c x), which are even.

The product of two numbers of one sign needs no sign put back, and c goes into erf's coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.expr.scalar import Binary, Const, Scalar, Unary

MOST = 2.0**20  # the greatest constant, and the inverse of the least, that erf's table is scaled by


@dataclass(frozen=True, slots=True)
class Even:
    """factor * erf(scale * value), or with `added` factor * (erf(scale * value) + 1).

    The factor has the sign of the value in every lane, so that a product is |factor| * erf(|...|).
    What is added to it makes 0.0 of -0.0, and is rounded with it, once.
    """

    factor: Scalar
    value: Scalar
    scale: float
    added: bool


def even(left: Scalar, right: Scalar) -> Even | None:
    """Return what a product of two values is, if it is one of a value and of erf of that value.

    >>> import tilewright as tw
    >>> x = tw.tensor("X", (4,))[tw.Axis("i", 4)]
    >>> found = even(x * 0.5, 1.0 + tw.erf(x * 2.0))
    >>> str(found.factor), str(found.value), found.scale, found.added
    ('(X[i] * 0.5)', 'X[i]', 2.0, True)
    >>> even(x * -0.5, tw.erf(x))
    """
    for factor, other in (left, right), (right, left):
        odd, added = _less_one(other)
        match odd:
            case Unary(op="erf", value=inner, dtype="float32"):
                value, scale = multiple(inner)
                if multiple(factor)[0] == value:
                    return Even(factor, value, scale, added)
            case _:
                pass
    return None


def multiple(value: Scalar) -> tuple[Scalar, float]:
    """Return x and c > 0 of c x, without any positive constants that multiply or divide it."""
    scale = 1.0
    while True:
        match value:
            case Binary(op="mul", left=inner, right=Const(value=number)):
                more = scale * number
            case Binary(op="mul", left=Const(value=number), right=inner):
                more = scale * number
            case Binary(op="div", left=inner, right=Const(value=number)) if number:
                more = scale / number
            case _:
                return value, scale
        if not 1 / MOST <= more <= MOST:
            return value, scale
        value, scale = inner, more


def _less_one(value: Scalar) -> tuple[Scalar, bool]:
    """Return x of x + 1 and True, or what is given and False."""
    match value:
        case Binary(op="add", left=x, right=Const(value=1.0)):
            return x, True
        case Binary(op="add", left=Const(value=1.0), right=x):
            return x, True
        case _:
            return value, False
