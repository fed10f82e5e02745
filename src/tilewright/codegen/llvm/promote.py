"""Which small buffers can live in registers: those that only unrolled and vector loops index."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.codegen.llvm.lanes import reduced
from tilewright.dtypes import nbytes
from tilewright.expr.affine import Affine
from tilewright.expr.parts import loads, operands
from tilewright.expr.scalar import Within
from tilewright.loops.nodes import Block, Buffer, Loop, Nest, offset, product, walk

MAX_ELEMENTS = 4096


def promote(nest: Nest) -> set[str]:
    """Return the names of the local buffers that become values instead of memory."""
    candidates = {
        b.name
        for b in nest.buffers
        if b.scope in ("local", "register") and int(product(b.shape)) <= MAX_ELEMENTS
    }
    patterns: dict[str, set[tuple[int, ...]]] = {}
    for outer, block in walk(nest.body):
        candidates -= {load.buffer for load in loads(block.value) if load.gathered}
        for name, index in _accesses(block):
            if name not in candidates:
                continue
            pattern = _pattern(outer, block, nest.by_name[name], index, nest.by_name)
            if pattern is None:
                candidates.discard(name)
            else:
                patterns.setdefault(name, set()).add(pattern)
    return {name for name in candidates if len(patterns.get(name, ())) == 1}


def element(loop: Loop, buffers: Mapping[str, Buffer]) -> str:
    """Return the type that a vector loop counts lanes in: the widest that it loads or stores.

    So that a tile of int32 has the same lanes where it is added up and where it becomes int8. What
    only indexes another load does not count: rows are copied in vectors of their own type.
    """
    blocks = [block for _, block in walk(loop.body)]
    names = {name for b in blocks for name in (b.buffer, *(x.buffer for x in operands(b.value)))}
    return max((buffers[name].dtype for name in sorted(names)), key=nbytes)


def _accesses(block: Block) -> list[tuple[str, tuple[Affine, ...]]]:
    return [(block.buffer, block.index), *((x.buffer, x.index) for x in loads(block.value))]


def _pattern(
    outer: tuple[Loop, ...],
    block: Block,
    buffer: Buffer,
    index: tuple[Affine, ...],
    buffers: Mapping[str, Buffer],
) -> tuple[int, ...] | None:
    """Return how a vector loop goes over an access, or None if it needs memory.

    That is its extent, step and element, and what cuts it: accesses that differ there differ in
    registers.
    """
    flat = offset(buffer.shape, index)
    kinds = {loop.name: loop for loop in outer}
    pattern: tuple[int, ...] = (1, 0)
    for name, step in flat.terms:
        loop = kinds.get(name)
        if loop is None or (loop.kind not in ("unroll", "vectorize") and loop.extent > 1):
            return None
        if loop.kind == "vectorize" and loop.extent > 1:
            skips = [c for c in block.when if name in c.index.variables]
            keeps = block.reduce is not None and block.buffer == buffer.name
            if step != 1 or (skips and not (keeps and all(_is_tail(c, name) for c in skips))):
                return None
            if loop.reduce and reduced(loop) is None:
                return None
            cuts = sorted(_shape(c, name) for c in block.guards if name in c.index.variables)
            size = nbytes(element(loop, buffers))
            pattern = (int(loop.extent), int(step), size, *(n for cut in cuts for n in cut))
    return pattern


def _is_tail(condition: Within, vector: str) -> bool:
    """Whether the lanes that fail a condition are the last ones."""
    return int(condition.index.coefficient(vector)) > 0 and condition.low <= -(1 << 40)


def _shape(guard: Within, vector: str) -> tuple[int, ...]:
    """Return a condition without its names: tiles copied elsewhere have other names."""
    others = sorted(int(c) for name, c in guard.index.terms if name != vector)
    step = int(guard.index.coefficient(vector))
    return (guard.low, guard.high, int(guard.index.constant), step, *others)
