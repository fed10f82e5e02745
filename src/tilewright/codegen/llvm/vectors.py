"""How a vector loop is cut into vectors, and by which conditions."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.codegen.llvm.memory import Vector
from tilewright.expr.scalar import Within
from tilewright.loops.nodes import Block, Loop


class Shape(NamedTuple):
    """How a vector loop is cut: by conditions whose lanes are kept, by others, into lanes.

    `whole` are its vectors where no condition cuts it; `block` is what it reduces, if it does that.
    """

    kept: list[Within]
    others: list[Within]
    lanes: int
    whole: list[Vector]
    block: Block | None


def vectors(loop: Loop, lanes: int, start: int, stop: int, end: int) -> list[Vector]:
    """Return the vectors from `start` to `stop`, as wide as those that would reach to `end`."""
    made: list[Vector] = []
    for base in range(start, stop, lanes):
        whole, active = min(lanes, end - base), min(lanes, stop - base)
        width = lanes if whole == lanes else 1 << (whole - 1).bit_length()
        made.append(Vector(loop.name, base, width, active))
    return made
