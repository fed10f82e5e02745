"""How searches get new candidates: a uniform draw, a change of one knob, a mix of two."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import SpaceError

if TYPE_CHECKING:
    from tilewright.space.space import Population, Space

_TRIES = 4  # for a move before the row stays
_LISTED = 1 << 13  # spaces up to this size are listed, so that every valid row can be found
_DRAWN = 1 << 18  # rows drawn at most for one sample
_BATCH = 1 << 14


def sample(space: Space[Any], rng: np.random.Generator, n: int) -> Population:
    """Draw up to `n` different valid rows, uniformly among the valid ones."""
    if space.size <= _LISTED:
        rows = space.rows(rng.permutation(space.size))
        return rows[space.valid(rows)][:n]
    found: dict[bytes, None] = {}
    drawn, batch = 0, max(64, 2 * n)
    while len(found) < n and drawn < _DRAWN + n:
        rows = space.canonical(rng.integers(0, space.sizes, (batch, len(space.sizes)), np.int32))
        found.update(dict.fromkeys(space.keys(rows[space.valid(rows)])))
        drawn, batch = drawn + batch, min(2 * batch, max(_BATCH, n))
    keys = b"".join(list(found)[:n])
    return np.frombuffer(keys, np.int32).reshape(-1, len(space.sizes)).copy()


def neighbours(space: Space[Any], rng: np.random.Generator, pop: Population) -> Population:
    """Give one knob of every row another of its options, knob and option drawn uniformly."""
    if not np.any(space.sizes > 1):
        return pop.copy()

    def change(old: Population) -> Population:
        new, rows = old.copy(), np.arange(len(old))
        asked = space.asked(old) & (space.sizes > 1)
        count = asked.sum(axis=1)
        nth = rng.integers(0, np.maximum(count, 1))
        knobs = np.argmax(np.cumsum(asked, axis=1) > nth[:, None], axis=1)
        sizes = np.maximum(space.sizes[knobs], 2)
        new[rows, knobs] = (old[rows, knobs] + rng.integers(1, sizes)) % space.sizes[knobs]
        if space.branched:  # a way just taken starts anywhere
            drawn = rng.integers(0, space.sizes, old.shape, np.int32)
            new = space.canonical(np.where(space.asked(old), new, drawn))
        return new

    return _attempt(space, pop, lambda rows: change(pop[rows]))


def crossover(
    space: Space[Any], rng: np.random.Generator, a: Population, b: Population
) -> Population:
    """Take every knob from either parent with the same chance."""

    def mix(rows: NDArray[np.intp]) -> Population:
        mixed = np.where(rng.random((len(rows), a.shape[1])) < 0.5, a[rows], b[rows])
        same = space.asked(mixed) == space.asked(a[rows])
        return np.where(same.all(axis=1)[:, None], space.canonical(mixed), a[rows])

    return _attempt(space, a, mix)


def first(space: Space[Any]) -> NDArray[np.int32]:
    """Return the valid row with the lowest number, or if none comes early, one that is drawn."""
    at, count = 0, 1
    while at < min(space.size, _BATCH):
        rows = space.rows(np.arange(at, min(at + count, space.size)))
        valid = np.flatnonzero(space.valid(rows))
        if len(valid):
            return rows[valid[0]]
        at, count = at + count, 4 * count
    drawn = sample(space, np.random.default_rng(0), 1)
    if not len(drawn):
        raise SpaceError(
            f"no configuration meets the requirements of {space.program!r}, as far as a search of "
            f"{_DRAWN:,} can tell; loosen a requirement, or offer more options.\n{space}"
        )
    return drawn[0]


def _attempt(
    space: Space[Any], pop: Population, move: Callable[[NDArray[np.intp]], Population]
) -> Population:
    """Move every row, those whose move is invalid again, and leave alone those without luck."""
    result = pop.copy()
    left = np.arange(len(pop))
    for _ in range(_TRIES):
        if not len(left):
            break
        moved = move(left)
        valid = space.valid(moved)
        result[left[valid]] = moved[valid]
        left = left[~valid]
    return result
