"""What a tile of a stage needs: the storage of the tile, and loops that go over it once more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tilewright.expr.affine import Affine, Extent, anywhere
from tilewright.loops.nodes import (
    Block,
    Buffer,
    Loop,
    Nest,
    around,
    nest_in,
    rewrite,
    swap,
    variables,
)
from tilewright.loops.substitute import rename
from tilewright.schedule import find


@dataclass(frozen=True, slots=True)
class Tile:
    """The part of a stage's tensor that one round of a loop computes."""

    loop: Loop
    block: Block
    inner: tuple[Loop, ...]
    shape: tuple[Extent, ...]
    index: tuple[Affine, ...]


def tile_of(nest: Nest, stage: str, at: str, asked: str) -> Tile:
    """Return the tile of `stage` inside the loop `at`; all its reduce loops must be inside."""
    outer, block = find.stage(nest, stage, asked)
    names = [loop.name for loop in outer]
    if at not in names:
        find.refuse(
            nest, asked, f"{at!r} is not a loop round {stage!r}; those are {', '.join(names)}."
        )
    find.no_vector(nest, at, asked)
    depth = names.index(at)
    for loop in outer[: depth + 1]:
        if loop.reduce:
            find.refuse(
                nest,
                asked,
                f"the reduce loop {loop.name!r} is outside of {at!r}, so the tile is not complete "
                f"there; move {loop.name!r} inside.",
            )
    inner = tuple(loop for loop in outer[depth + 1 :] if not loop.reduce)
    extents = {loop.name: loop.extent for loop in inner}
    extents |= {bind.name: bind.modulus for loop in inner for bind in loop.binds}
    packed = [_packed([(n, c) for n, c in i.terms if n in extents], extents) for i in block.index]
    index, shape = (tuple(part) for part in zip(*packed, strict=True)) if packed else ((), ())
    return Tile(outer[depth], block, inner, shape, index)


def inside(tile: Tile) -> Nest:
    """Return what the tile's loop holds, as a nest of its own."""
    return Nest(tile.loop.name, (), (tile.loop,))


def _packed(terms: list[tuple[str, Extent]], extents: dict[str, Extent]) -> tuple[Affine, Extent]:
    """Return the place in a tile of what one dimension is indexed by, and the tile's extent.

    Loops that step over more than the others reach, as over half of a matrix, lie side by side.
    """
    span: Extent = 1
    close: list[tuple[str, Extent]] = []
    for name, step in sorted(terms, key=lambda term: float(np.min(np.abs(term[1])))):
        if anywhere(step < span):
            return Affine.sum(0, terms), 1 + sum(c * (extents[n] - 1) for n, c in terms)
        close.append((name, span))
        span = span + span * (extents[name] - 1)
    return Affine.sum(0, close), span


def keep_tile(nest: Nest, tile: Tile, buffer: Buffer, consumer: Callable[[Block], Block]) -> Nest:
    """Make the stage write `buffer`, tile by tile, and run `consumer` over each finished tile."""
    block = tile.block
    loops = (*around(nest.body, tile.loop.name), *tile.inner)
    names = {name for loop in loops for name in variables(loop)}
    guards = tuple(g for g in block.guards if set(g.index.variables) <= names)
    after = consumer(replace(block, reduce=None, init=False, guards=guards, when=()))
    again = rename(nest_in(tile.inner, (after,)), f"{after.stage}:")
    written = replace(block, buffer=buffer.name, index=tile.index)

    def change(loop: Loop) -> Loop:
        inside = rewrite(loop.body, lambda node: written if node is block else node)
        return loop.holding((*inside, *again))

    return nest.holding(swap(nest.body, tile.loop.name, change), (*nest.buffers, buffer))
