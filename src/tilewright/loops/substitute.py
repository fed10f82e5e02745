"""Renaming and replacing loop variables in a nest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import is_

from tilewright.expr.affine import Affine
from tilewright.expr.parts import rebuild, substitute
from tilewright.expr.scalar import Load, Scalar, Within
from tilewright.loops.nodes import Bind, Block, Loop, Node


def in_block(block: Block, values: Mapping[str, Affine]) -> Block:
    """Replace variables everywhere in a block; it is the same one if it mentions none of them."""

    def guards(conditions: tuple[Within, ...]) -> tuple[Within, ...]:
        if not any(w.index.mentions(values) for w in conditions):
            return conditions
        return tuple(Within(w.index.substitute(values), w.low, w.high) for w in conditions)

    value, index = substitute(block.value, values), block.index
    if any(i.mentions(values) for i in index):
        index = tuple(i.substitute(values) for i in index)
    made = (index, value, guards(block.guards), guards(block.when))
    if all(map(is_, made, (block.index, block.value, block.guards, block.when))):
        return block
    return Block(block.stage, block.buffer, index, value, block.reduce, block.init, *made[2:])


def in_nodes(nodes: tuple[Node, ...], values: Mapping[str, Affine]) -> tuple[Node, ...]:
    """Replace variables in every block and in what fused loops bind; what stays is not copied."""
    out: list[Node] = []
    for node in nodes:
        if isinstance(node, Block):
            out.append(in_block(node, values))
        elif any(b.index.mentions(values) for b in node.binds):
            binds = tuple(replace(b, index=b.index.substitute(values)) for b in node.binds)
            out.append(replace(node, body=in_nodes(node.body, values), binds=binds))
        else:
            out.append(node.holding(in_nodes(node.body, values)))
    return nodes if all(map(is_, out, nodes)) else tuple(out)


def rename(nodes: tuple[Node, ...], prefix: str) -> tuple[Node, ...]:
    """Prefix the names of all loops in `nodes`, and every use of them."""
    names: dict[str, str] = {}

    def collect(parts: tuple[Node, ...]) -> None:
        for node in parts:
            if isinstance(node, Loop):
                names[node.name] = prefix + node.name
                names.update({b.name: prefix + b.name for b in node.binds})
                collect(node.body)

    def apply(parts: tuple[Node, ...]) -> tuple[Node, ...]:
        return tuple(renamed(node) if isinstance(node, Loop) else node for node in parts)

    def renamed(loop: Loop) -> Loop:
        binds = tuple(Bind(names[b.name], b.index, b.divisor, b.modulus) for b in loop.binds)
        kept = (loop.extent, loop.kind, loop.reduce)
        return Loop(names[loop.name], *kept, apply(loop.body), binds, loop.intrinsic)

    collect(nodes)
    return in_nodes(apply(nodes), {a: Affine(0, ((b, 1),)) for a, b in names.items()})


def redirect(value: Scalar, source: str, target: str, index: tuple[Affine, ...] | None) -> Scalar:
    """Make loads of `source` loads of `target`, at `index` if one is given."""

    def change(part: Scalar) -> Scalar:
        if isinstance(part, Load) and part.buffer == source:
            return replace(part, buffer=target, index=part.index if index is None else index)
        return part

    return rebuild(value, change)
