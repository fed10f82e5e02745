"""The matrices of short convolutions: Toom-Cook, transposed into Winograd's filters.

F(m, r) computes m outputs of a filter with r taps by m + r - 1 multiplications:
y = A^T [(G g) * (B^T d)]. A product of polynomials of degrees m - 1 and r - 1 is found from its
values at m + r - 2 points and at infinity; transposing that algorithm gives the filter.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

Matrix = tuple[tuple[Fraction, ...], ...]

POINTS = tuple(
    Fraction(*p) for p in ((0, 1), (1, 1), (-1, 1), (2, 1), (-2, 1), (1, 2), (-1, 2), (4, 1))
)


@dataclass(frozen=True, slots=True)
class Filter:
    """F(m, r): `input` is B^T (a x a), `weight` G (a x r), `output` A^T (m x a); a = m + r - 1."""

    input: Matrix
    weight: Matrix
    output: Matrix


@lru_cache
def short_filter(m: int, r: int) -> Filter:
    """Return the exact matrices of F(m, r); m + r may be at most 10.

    >>> [[str(x) for x in row] for row in short_filter(2, 3).input]
    [['-1', '0', '1', '0'], ['0', '1', '1', '0'], ['0', '-1', '1', '0'], ['0', '-1', '0', '1']]
    """
    points = POINTS[: m + r - 2]
    rows: list[tuple[Fraction, ...]] = []
    weights: list[tuple[Fraction, ...]] = []
    for i, p in enumerate(points):
        others = [q for j, q in enumerate(points) if j != i]
        scale = Fraction(1)
        for q in others:
            scale *= p - q
        rows.append((*_monic(others), Fraction(0)))
        weights.append(tuple(p**j / scale for j in range(r)))
    rows.append(_monic(list(points)))
    weights.append(tuple(Fraction(j == r - 1) for j in range(r)))
    outputs = tuple((*(p**j for p in points), Fraction(j == m - 1)) for j in range(m))
    return Filter(tuple(rows), tuple(weights), outputs)


def _monic(roots: list[Fraction]) -> tuple[Fraction, ...]:
    """Return the coefficients of the product of (x - root), lowest power first."""
    out = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *out]
        out = [a - root * b for a, b in zip(shifted, [*out, Fraction(0)], strict=True)]
    return tuple(out)
