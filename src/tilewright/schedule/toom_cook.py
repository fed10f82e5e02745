"""The matrices of short convolutions: Toom-Cook, transposed into Winograd's filters.

F(m, r) computes m outputs of a filter with r taps by m + r - 1 multiplications:
y = A^T [(G g) * (B^T d)]. A product of polynomials of degrees m - 1 and r - 1 is found from its
values at m + r - 2 points and at infinity; transposing that algorithm gives the filter. A filter
that moves in steps is a sum of such filters, each on the samples and taps of one phase.
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
    """F(m, r): `input` is B^T (a x d), `weight` G (a x r), `output` A^T (m x a).

    It takes d = stride (m - 1) + r samples and a products, m + r - 1 for a stride of one.
    """

    input: Matrix
    weight: Matrix
    output: Matrix


@lru_cache
def short_filter(m: int, r: int, stride: int = 1) -> Filter:
    """Return the exact matrices of F(m, r); m + r may be at most 10.

    >>> [[str(x) for x in row] for row in short_filter(2, 3).input]
    [['-1', '0', '1', '0'], ['0', '1', '1', '0'], ['0', '-1', '1', '0'], ['0', '-1', '0', '1']]
    >>> [[str(x) for x in row] for row in short_filter(2, 3, stride=2).weight]
    [['-1', '0', '0'], ['1', '0', '1'], ['0', '0', '1'], ['0', '1', '0'], ['0', '1', '0']]
    """
    if stride > 1:
        return _strided(m, r, stride)
    if r == 1:
        same = tuple(tuple(Fraction(i == j) for j in range(m)) for i in range(m))
        return Filter(same, ((Fraction(1),),) * m, same)
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


def _strided(m: int, r: int, stride: int) -> Filter:
    """Put the filters of the phases below each other: phase p has the taps p, p + stride, .."""
    samples = stride * (m - 1) + r
    rows: list[tuple[Fraction, ...]] = []
    weights: list[tuple[Fraction, ...]] = []
    outputs: list[tuple[Fraction, ...]] = [()] * m
    for phase in range(min(stride, r)):
        part = short_filter(m, len(range(phase, r, stride)))
        rows += (_spread(row, phase, stride, samples) for row in part.input)
        weights += (_spread(row, phase, stride, r) for row in part.weight)
        outputs = [(*a, *b) for a, b in zip(outputs, part.output, strict=True)]
    return Filter(tuple(rows), tuple(weights), tuple(outputs))


def _spread(
    row: tuple[Fraction, ...], phase: int, stride: int, length: int
) -> tuple[Fraction, ...]:
    out = [Fraction(0)] * length
    out[phase : phase + stride * len(row) : stride] = row
    return tuple(out)


def _monic(roots: list[Fraction]) -> tuple[Fraction, ...]:
    """Return the coefficients of the product of (x - root), lowest power first."""
    out = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *out]
        out = [a - root * b for a, b in zip(shifted, [*out, Fraction(0)], strict=True)]
    return tuple(out)
