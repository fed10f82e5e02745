"""compute_at: a producer computes, inside a loop of its consumer, just what one round needs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tilewright.expr.affine import Affine, Extent, anywhere, greatest
from tilewright.expr.parts import rebuild
from tilewright.expr.scalar import Load, Scalar, Within
from tilewright.loops.nodes import Block, Buffer, Loop, Nest, Node, around, rewrite, swap
from tilewright.loops.substitute import in_nodes
from tilewright.schedule import find


@dataclass(frozen=True, slots=True)
class ComputeAt:
    """Move the unscheduled `stage` into `loop`; its tensor shrinks to the region read there.

    >>> from tilewright import Schedule, compute, tensor
    >>> a = tensor("A", (10,))
    >>> b = compute("B", (10,), lambda i: a[i] * 2.0)
    >>> s = Schedule(compute("C", (8,), lambda x: b[x] + b[x + 2])).split("x", (2, 4))
    >>> print(s.compute_at("B", "x.0").loops)
    local B[6]: float32
    for x.0 in 2:
      for i in 6:
        B[i] = (A[i + x.0*4] * 2.0)
      for x.1 in 4:
        C[x.0*4 + x.1] = (B[x.1] + B[x.1 + 2])
    """

    stage: str
    loop: str

    def apply(self, nest: Nest) -> Nest:
        asked = f"compute_at {self.stage!r} at {self.loop!r}"
        at = find.loop(nest, self.loop, asked)
        outer, block = find.stage(nest, self.stage, asked)
        if not outer:
            find.refuse(nest, asked, "it has no loops; inline it.")
        root = outer[0]
        find.alone(nest, root, asked)
        find.no_vector(nest, self.loop, asked)
        chain = around(nest.body, at.name)
        reducing = [loop.name for loop in chain if loop.reduce]
        if block.reduce and reducing:
            find.refuse(
                nest, asked, f"it reduces, and would be inside {reducing[0]!r}, which does."
            )
        old = nest.by_name[block.buffer]
        axes = [i.variables[0] if len(i.variables) == 1 else "" for i in block.index]
        fused = any(loop.binds for loop in outer)
        if fused or "" in axes or any(i.constant for i in block.index) or block.guards:
            find.refuse(nest, asked, "its own loops are already scheduled.")
        if old.scope == "output":
            find.refuse(nest, asked, "it is the output.")
        readers = find.readers(nest, block.buffer)
        if not readers or any(at.name not in [o.name for o in chain] for chain, _, _ in readers):
            find.refuse(nest, asked, f"it is read outside of {self.loop!r}, or nowhere.")
        region = _region([load for _, _, found in readers for load in found], at, old.shape)
        values = {
            axis: Affine(0, ((axis, 1),)) + base
            for axis, (base, _) in zip(axes, region, strict=True)
        }
        moved = self._producer(root, chain, axes, region, values, old)
        shift = tuple(base for base, _ in region)

        def use(part: Scalar) -> Scalar:
            if isinstance(part, Load) and part.buffer == block.buffer:
                index = tuple(i - b for i, b in zip(part.index, shift, strict=True))
                return replace(part, index=index)
            return part

        def change(node: Node) -> Node:
            if isinstance(node, Block) and any(x.buffer == old.name for x in node.loads):
                return replace(node, value=rebuild(node.value, use))
            return node

        rest = tuple(node for node in nest.body if node is not root)
        body = swap(rest, at.name, lambda at: at.holding((moved, *rewrite(at.body, change))))
        shrunk = Buffer(old.name, tuple(extent for _, extent in region), old.dtype, "local")
        buffers = (*(b for b in nest.buffers if b.name != old.name), shrunk)
        return nest.holding(body, buffers)

    def _producer(
        self,
        root: Loop,
        chain: tuple[Loop, ...],
        axes: list[str],
        region: list[tuple[Affine, Extent]],
        values: dict[str, Affine],
        old: Buffer,
    ) -> Node:
        """Return the producer's loops over the region; what lies beyond its tensor is skipped."""
        body = in_nodes(root.body, values)
        index = tuple(Affine(0, ((axis, 1),)) for axis in axes)
        extents = {axis: extent for axis, (_, extent) in zip(axes, region, strict=True)}
        known = {loop.name: loop.extent for loop in chain}
        known.update({b.name: b.modulus for loop in chain for b in loop.binds})
        known.update(extents)
        guards = tuple(
            Within(values[axis], 0, greatest(n))
            for axis, n in zip(axes, old.shape, strict=True)
            if not _inside(values[axis], n, known)
        )
        whole = replace(root, body=body)

        def change(node: Node) -> Node:
            if isinstance(node, Block):
                return replace(node, index=index, guards=(*node.guards, *guards))
            return replace(node, extent=extents[node.name]) if node.name in extents else node

        return rewrite((whole,), change)[0]


def _inside(index: Affine, extent: Extent, known: dict[str, Extent]) -> bool:
    """Whether an index can never leave 0 <= index < extent, whatever the loops do."""
    low, high = index.bounds(lambda name: (0, greatest(known[name]) - 1))
    return not (anywhere(low < 0) or anywhere(high >= extent))


def _region(found: list[Load], at: Loop, shape: tuple[Extent, ...]) -> list[tuple[Affine, Extent]]:
    """Return, for each dimension, where the region that `at`'s body reads starts, and its extent.

    It is the whole dimension where two loads lie apart by a distance that varies, and where an
    index is data: any element may be read then.
    """
    data = {d for load in found for d, _ in load.gathered}
    inner = {loop.name: loop.extent for loop in at.inside.values()}
    bound = {b.name: b.modulus for loop in at.inside.values() for b in loop.binds}
    inner.update(bound)
    region: list[tuple[Affine, Extent]] = []
    dimensions = zip(*(load.index for load in found), strict=True)
    for d, (whole, dimension) in enumerate(zip(shape, dimensions, strict=True)):
        bases, ends = list[Affine](), list[Extent]()
        for index in dimension:
            moving = Affine(0, tuple((n, c) for n, c in index.terms if n in inner))
            low, high = moving.bounds(lambda name: (0, inner[name] - 1))
            fixed = tuple((n, c) for n, c in index.terms if n not in inner)
            bases.append(Affine(index.constant + low, fixed))
            ends.append(high - low + 1)
        first = bases[0]
        shifts = [(b - first) for b in bases]
        if d in data or any(shift.terms for shift in shifts):
            region.append((Affine(), whole))
            continue
        start = min((s.constant for s in shifts), key=greatest)
        extent = shifts[0].constant - start + ends[0]
        for shift, end in zip(shifts[1:], ends[1:], strict=True):
            extent = np.maximum(extent, shift.constant - start + end)
        region.append((first + start, _plain(extent)))
    return region


def _plain(value: Extent) -> Extent:
    return value if isinstance(value, np.ndarray) and value.ndim else int(value)
