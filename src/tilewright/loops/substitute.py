"""Renaming and replacing loop variables in a nest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright.expr.affine import Affine
from tilewright.expr.scalar import Load, Scalar, Within, rebuild, substitute
from tilewright.loops.nodes import Bind, Block, Loop, Node


def in_block(block: Block, values: Mapping[str, Affine]) -> Block:
    """Replace variables everywhere in a block: index, value and conditions."""

    def guard(w: Within) -> Within:
        return Within(w.index.substitute(values), w.low, w.high)

    return Block(
        block.stage,
        block.buffer,
        tuple(i.substitute(values) for i in block.index),
        substitute(block.value, dict(values)),
        block.reduce,
        block.init,
        tuple(guard(g) for g in block.guards),
        tuple(guard(g) for g in block.when),
    )


def in_nodes(nodes: tuple[Node, ...], values: Mapping[str, Affine]) -> tuple[Node, ...]:
    """Replace variables in every block and in what fused loops bind."""
    out: list[Node] = []
    for node in nodes:
        if isinstance(node, Block):
            out.append(in_block(node, values))
        elif node.binds:
            binds = tuple(replace(b, index=b.index.substitute(values)) for b in node.binds)
            out.append(replace(node, body=in_nodes(node.body, values), binds=binds))
        else:
            out.append(node.holding(in_nodes(node.body, values)))
    return tuple(out)


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
