"""The ways to split an extent: ordered factorisations, and near ones where divisors are scarce."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from tilewright.errors import SpaceError

_WASTE = 4 / 3  # a split may run at most this times the extent
_LITTLE = 32  # one part in so many of the extent is little waste
_ROUNDS = 16  # near sizes are those that need 2 to this many rounds, and the powers of two


@lru_cache(maxsize=4096)
def factorisations(
    extent: int,
    parts: int,
    max_inner: int | None = None,
    multiple: int = 1,
    between: bool = False,
) -> tuple[tuple[int, ...], ...]:
    """Return every way to split `extent` into `parts` factors, outermost first; never none.

    The innermost factor is at most `max_inner`, and a multiple of `multiple` or the whole extent.
    If neighbouring divisors differ by more than a factor of two (7 has only 1 and 7), inner factors
    that do not divide are offered as well: the product is then up to a third above the extent. With
    `between`, so are innermost factors of three, five or seven times a power of two (times
    `multiple`) that run at most a thirty-second more. The first way is the least tiled one.

    >>> factorisations(8, 2)
    ((8, 1), (4, 2), (2, 4), (1, 8))
    >>> factorisations(7, 2)
    ((7, 1), (4, 2), (3, 3), (2, 4), (1, 7))
    >>> factorisations(40, 2, multiple=16)
    ((3, 16), (2, 32), (1, 40))
    """
    limit = extent if max_inner is None else max_inner
    if extent < 1 or parts < 1 or limit < 1 or multiple < 1:
        raise SpaceError(
            f"cannot split an extent of {extent} into {parts} parts (max_inner {max_inner}, "
            f"multiple {multiple}): each of the four must be 1 or more."
        )
    if parts == 1:
        return ((extent,),)
    if multiple > limit and extent > limit:
        raise SpaceError(
            f"cannot split {extent} with an innermost factor that is a multiple of {multiple} and "
            f"at most {limit}: no number is both; give max_inner of {multiple} or more."
        )
    near = _has_gaps(extent, multiple)
    most = int(_WASTE * (-(-extent // multiple) * multiple))
    sizes = _sizes(extent, multiple, near)
    little = _between(extent, multiple) if between else ()
    found = {
        (*outer, inner)
        for inner in {*sizes, *little}
        if inner <= limit
        for outer in _splits(
            -(-extent // inner), parts - 1, near or inner not in sizes, most // inner
        )
    }
    return tuple(sorted(found, key=lambda factors: factors[::-1]))


def _splits(extent: int, parts: int, near: bool, most: int) -> list[tuple[int, ...]]:
    """Split into `parts` factors whose product is at least `extent` and at most `most`."""
    if extent > most:
        return []
    if parts == 1:
        return [(extent,)]
    return [
        (*outer, inner)
        for inner in _sizes(extent, 1, near)
        for outer in _splits(-(-extent // inner), parts - 1, near, most // inner)
    ]


@lru_cache(maxsize=4096)
def _sizes(extent: int, multiple: int, near: bool) -> tuple[int, ...]:
    """Return the tile sizes of `extent`: its divisors, with `near` also some in their gaps."""
    exact = _landmarks(extent, multiple)
    if not near:
        return tuple(exact)
    offered = {multiple << k for k in range(extent.bit_length())}
    offered |= {-(-extent // (q * multiple)) * multiple for q in range(2, _ROUNDS + 1)}
    gaps = [(a, b) for a, b in pairwise(exact) if b > 2 * a]
    return tuple(sorted({*exact, *(t for t in offered if any(a < t < b for a, b in gaps))}))


def _between(extent: int, multiple: int) -> list[int]:
    """Return sizes between the powers of two that waste little of `extent`."""
    sizes = [odd * multiple << power for odd in (3, 5, 7) for power in range(extent.bit_length())]
    return [t for t in sizes if 0 < -extent % t <= extent // _LITTLE]


def _landmarks(extent: int, multiple: int) -> list[int]:
    """Return, in order, the divisors that are multiples, the smallest multiple, and `extent`."""
    if multiple >= extent:
        return [extent]
    divisors = {d for d in _divisors(extent) if d % multiple == 0}
    return sorted(divisors | {multiple, extent})


def _has_gaps(extent: int, multiple: int) -> bool:
    marks = _landmarks(extent, multiple)
    scarce = any(b > 2 * a for a, b in pairwise(marks))
    return scarce or any(extent % mark for mark in marks)


@lru_cache(maxsize=4096)
def _divisors(extent: int) -> tuple[int, ...]:
    low = [d for d in range(1, int(extent**0.5) + 1) if extent % d == 0]
    return tuple(sorted({*low, *(extent // d for d in low)}))
