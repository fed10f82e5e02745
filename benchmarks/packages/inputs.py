"""What networks are fed: shapes, and how the values of an input are drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
from numpy.typing import DTypeLike

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Uniform:
    """Real numbers, all in the range alike."""

    low: float = -1.0
    high: float = 1.0


@dataclass(frozen=True, slots=True)
class Whole:
    """Whole numbers, both ends included: ids, flags, lengths."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Page:
    """Lines of black strokes, so many pixels wide, on white: a detector of text answers to it.

    Noise gives such networks nothing to find, and an output that is zero all over says little.
    """

    stroke: int = 2


Draw = Uniform | Whole | Page


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a network: the shape to compile for, and its values."""

    shape: tuple[int, ...]
    draw: Draw = Uniform()


def drawn(entry: Input, dtype: DTypeLike, rng: np.random.Generator) -> Array:
    """Return an array for `entry`; the same generator gives the same values."""
    match entry.draw:
        case Uniform(low, high):
            values = rng.uniform(low, high, entry.shape)
        case Whole(low, high):
            values = rng.integers(low, high, entry.shape, endpoint=True)
        case Page(stroke):
            values = _page(entry.shape, stroke, rng)
        case _:
            assert_never(entry.draw)
    return np.asarray(values, dtype)


def _page(shape: tuple[int, ...], stroke: int, rng: np.random.Generator) -> Array:
    rows, columns = (-(-extent // stroke) for extent in shape[-2:])
    ink = rng.integers(0, 2, (rows, columns))
    ink[np.arange(rows) % 16 >= 8] = 0  # as much space between lines as they are high
    ink[:, np.arange(columns) % 6 == 5] = 0  # and some between letters
    pixels = np.kron(ink, np.ones((stroke, stroke)))[: shape[-2], : shape[-1]]
    return np.broadcast_to(1 - 2 * pixels, shape)
