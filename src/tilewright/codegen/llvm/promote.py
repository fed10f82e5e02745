"""Which small buffers can live in registers: those that only unrolled and vector loops index."""

from __future__ import annotations

from tilewright.expr.affine import Affine
from tilewright.expr.scalar import loads
from tilewright.loops.nodes import Block, Buffer, Loop, Nest, offset, walk

MAX_ELEMENTS = 4096


def promote(nest: Nest) -> set[str]:
    """Return the names of the local buffers that become values instead of memory."""
    candidates = {
        b.name
        for b in nest.buffers
        if b.scope in ("local", "register") and _elements(b) <= MAX_ELEMENTS
    }
    patterns: dict[str, set[tuple[int, int]]] = {}
    for outer, block in walk(nest.body):
        for name, index in _accesses(block):
            if name not in candidates:
                continue
            pattern = _pattern(outer, block, nest.by_name[name], index)
            if pattern is None:
                candidates.discard(name)
            else:
                patterns.setdefault(name, set()).add(pattern)
    return {name for name in candidates if len(patterns.get(name, ())) == 1}


def _elements(buffer: Buffer) -> int:
    total = 1
    for extent in buffer.shape:
        total *= int(extent)
    return total


def _accesses(block: Block) -> list[tuple[str, tuple[Affine, ...]]]:
    return [(block.buffer, block.index), *((x.buffer, x.index) for x in loads(block.value))]


def _pattern(
    outer: tuple[Loop, ...], block: Block, buffer: Buffer, index: tuple[Affine, ...]
) -> tuple[int, int] | None:
    """Return the vector loop's extent and step in an access, or None if it needs memory."""
    flat = offset(buffer.shape, index)
    kinds = {loop.name: loop for loop in outer}
    pattern = (1, 0)
    for name, step in flat.terms:
        loop = kinds.get(name)
        if loop is None or (loop.kind not in ("unroll", "vectorize") and loop.extent > 1):
            return None
        if loop.kind == "vectorize" and loop.extent > 1:
            if step != 1 or any(name in c.index.variables for c in block.when):
                return None
            pattern = (int(loop.extent), int(step))
    return pattern
