"""Passes that ready a scheduled nest for code generation, each from nest to nest."""

from __future__ import annotations

from dataclasses import replace

from tilewright.expr.affine import Affine
from tilewright.expr.parts import conjuncts, rebuild
from tilewright.expr.scalar import Binary, Cast, Const, Index, Load, Scalar, Select, Within
from tilewright.loops.interpret import neutral
from tilewright.loops.nodes import (
    Block,
    Buffer,
    Loop,
    Nest,
    Node,
    nest_in,
    rewrite,
    variables,
    without,
)
from tilewright.loops.substitute import in_nodes


def tidy(nest: Nest) -> Nest:
    """Return the nest that code is generated from."""
    nest = guard_reductions(nest)
    nest = drop_unit_loops(nest)
    nest = start_reductions(nest)
    return drop_dead_buffers(nest)


def guard_reductions(nest: Nest) -> Nest:
    """Turn `sum += select(inside, x, 0) * w` into `if inside: sum += x * w`.

    Adding zero changes nothing, so the term is skipped; padding then costs no multiplications and
    its loops can be specialised. (A weight that is infinite or NaN would have made NaN of it.)
    """

    def change(node: Node) -> Node:
        if not isinstance(node, Block) or node.reduce != "sum":
            return node
        value, when = strip(node.value)
        return replace(node, value=value, when=(*node.when, *when))

    return replace(nest, body=rewrite(nest.body, change))


def strip(value: Scalar) -> tuple[Scalar, tuple[Within, ...]]:
    """Return a term without the conditions outside of which it is zero, and those."""
    match value:
        case Select(condition=condition, yes=yes, no=Const(value=0)):
            parts = conjuncts(condition)
            if all(isinstance(part, Within) for part in parts):
                inner, when = strip(yes)
                return inner, (*(p for p in parts if isinstance(p, Within)), *when)
            return value, ()
        case Binary(op="mul", left=left, right=right):
            left, first = strip(left)
            right, second = strip(right)
            return replace(value, left=left, right=right), (*first, *second)
        case Cast(value=inner):
            inner, when = strip(inner)
            return replace(value, value=inner), when
        case _:
            return value, ()


def drop_unit_loops(nest: Nest) -> Nest:
    """Remove loops that run once: their variable is zero. What remains is decided more easily."""

    def change(node: Node) -> Node | tuple[Node, ...]:
        if not isinstance(node, Loop) or node.extent != 1 or node.binds:
            return node
        return in_nodes(node.body, {node.name: Affine()})

    return replace(nest, body=rewrite(nest.body, change))


def start_reductions(nest: Nest) -> Nest:
    """Make the start of each reduction a store of its own, just before its outermost loop."""
    return replace(nest, body=tuple(n for node in nest.body for n in _start(node, nest)))


def _start(node: Node, nest: Nest) -> tuple[Node, ...]:
    if isinstance(node, Block):
        return (_init(node, nest), replace(node, init=False)) if node.init else (node,)
    if node.reduce:
        starts = tuple(s for child in (node,) for s in _starts(child, nest))
        done = rewrite((node,), lambda n: replace(n, init=False) if isinstance(n, Block) else n)
        return (*starts, *done)
    return (replace(node, body=tuple(n for c in node.body for n in _start(c, nest))),)


def _starts(node: Node, nest: Nest) -> tuple[Node, ...]:
    """Return the start of every reduction below `node`, in the loops that do not reduce."""
    if isinstance(node, Block):
        return (_init(node, nest),) if node.init else ()
    inner = tuple(s for child in node.body for s in _starts(child, nest))
    if not inner or node.reduce:
        return inner
    return nest_in((without(node, _reducing(nest)),), inner)


def _init(block: Block, nest: Nest) -> Block:
    assert block.reduce
    dtype = nest.by_name[block.buffer].dtype
    reducing = _reducing(nest)
    guards = tuple(g for g in block.guards if not set(g.index.variables) & reducing)
    value = Const(neutral(block.reduce, dtype), dtype)
    return Block(block.stage, block.buffer, block.index, value, guards=guards)


def _reducing(nest: Nest) -> set[str]:
    return {name for loop in _reduce_loops(nest.body) for name in variables(loop)}


def _reduce_loops(nodes: tuple[Node, ...]) -> list[Loop]:
    return [
        found
        for node in nodes
        if isinstance(node, Loop)
        for found in ([node] if node.reduce else []) + _reduce_loops(node.body)
    ]


def drop_dead_buffers(nest: Nest) -> Nest:
    """Forget scratch buffers that nothing loads or stores any more."""
    used: set[str] = set()

    def note(part: Scalar) -> Scalar:
        if isinstance(part, Load):
            used.add(part.buffer)
        assert not isinstance(part, Index) or part.dtype
        return part

    def change(node: Node) -> Node:
        if isinstance(node, Block):
            used.add(node.buffer)
            rebuild(node.value, note)
        return node

    rewrite(nest.body, change)
    keep: tuple[Buffer, ...] = tuple(
        b for b in nest.buffers if b.name in used or b.scope in ("input", "constant", "output")
    )
    return replace(nest, buffers=keep)
