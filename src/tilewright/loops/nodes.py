"""The loop nest: loops with names and kinds, blocks that store, buffers with a scope.

All nodes are frozen; a schedule step makes a new nest. An extent, a shape or a coefficient may be
an integer array with one entry for each candidate of a population that shares its structure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from tilewright.expr.affine import Affine, Extent, text
from tilewright.expr.scalar import Scalar, Within
from tilewright.expr.tensor import Tensor

Kind: TypeAlias = Literal["serial", "parallel", "vectorize", "unroll"]
MAX_LOCAL = 1 << 20  # bytes of local buffers that a thread's stack is asked to hold

Scope: TypeAlias = Literal["input", "constant", "output", "workspace", "local", "register"]


@dataclass(frozen=True, slots=True)
class Buffer:
    """Storage. `workspace` is shared scratch memory, `local` a thread's stack, `register` neither.

    A constant made by `pack` names its `source` and the affine offset into it (`layout`) at which
    each element is found; it is filled at compile time. With `made`, an expression of the source
    alone, that is evaluated first and laid out then.
    """

    name: str
    shape: tuple[Extent, ...]
    dtype: str
    scope: Scope
    source: str | None = None
    layout: tuple[Affine, ...] = ()
    layout_loops: tuple[str, ...] = ()
    made: Tensor | None = None
    prefetch: int = 0  # bytes that each vector load asks the cache for ahead of itself

    def __repr__(self) -> str:
        shape = " x ".join(map(text, self.shape)) or "scalar"
        packed = f", packed {self.source}" if self.source else ""
        return f"Buffer({self.name}: {self.dtype} {shape}, {self.scope}{packed})"


@dataclass(frozen=True, slots=True)
class Bind:
    """A variable made from a fused loop's: `index // divisor % modulus`."""

    name: str
    index: Affine
    divisor: int
    modulus: int


@dataclass(frozen=True, slots=True)
class Loop:
    """`for name in range(extent)`; `reduce` loops carry a reduction from round to round.

    `intrinsic` names the instruction that runs all rounds of a loop, for the lanes of the vector
    loop round it, at once (`schedule/intrinsics.py`).
    """

    name: str
    extent: Extent
    kind: Kind
    reduce: bool
    body: tuple[Node, ...]
    binds: tuple[Bind, ...] = ()
    intrinsic: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """One store: `buffer[index] = value`, or its reduction, wherever all `guards` hold.

    `init` says that the first round of the enclosing reduce loops starts from the neutral element;
    lowering makes that a store of its own. `when` guards only the update, not the start.
    """

    stage: str
    buffer: str
    index: tuple[Affine, ...]
    value: Scalar
    reduce: str | None = None
    init: bool = False
    guards: tuple[Within, ...] = ()
    when: tuple[Within, ...] = ()


Node: TypeAlias = Loop | Block


@dataclass(frozen=True, slots=True)
class Nest:
    """A program: its buffers, inputs first in the order of the arguments, and its loops."""

    name: str
    buffers: tuple[Buffer, ...]
    body: tuple[Node, ...]
    by_name: dict[str, Buffer] = field(init=False, repr=False, compare=False)
    loops: dict[str, Loop] = field(init=False, repr=False, compare=False)  # outer before inner

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {b.name: b for b in self.buffers})
        object.__setattr__(self, "loops", {loop.name: loop for loop in loops(self.body)})

    def __str__(self) -> str:
        from tilewright.loops.show import show

        return show(self)

    @property
    def parameters(self) -> tuple[Buffer, ...]:
        """The buffers that live outside: arguments, constants, outputs and workspace."""
        return tuple(b for b in self.buffers if b.scope not in ("local", "register"))


def walk(nodes: tuple[Node, ...], outer: tuple[Loop, ...] = ()) -> Iterator[Path]:
    """Yield every block with the loops round it, outermost first."""
    for node in nodes:
        if isinstance(node, Loop):
            yield from walk(node.body, (*outer, node))
        else:
            yield outer, node


Path: TypeAlias = tuple[tuple[Loop, ...], Block]


def loops(nodes: tuple[Node, ...]) -> Iterator[Loop]:
    """Yield every loop, outer before inner."""
    open_ = list(reversed(nodes))
    while open_:
        node = open_.pop()
        if isinstance(node, Loop):
            yield node
            open_.extend(reversed(node.body))


def variables(loop: Loop) -> tuple[str, ...]:
    """Return what a loop defines: its variable, and those that it binds if it is fused."""
    return (loop.name, *(bind.name for bind in loop.binds))


def without(loop: Loop, gone: set[str]) -> Loop:
    """Return a loop that does not bind what is made of variables that are gone."""
    kept: list[Bind] = []
    for bind in loop.binds:
        if set(bind.index.variables) & gone:
            gone = gone | {bind.name}
        else:
            kept.append(bind)
    return replace(loop, binds=tuple(kept))


def rewrite(
    nodes: tuple[Node, ...], change: Callable[[Node], Node | tuple[Node, ...]]
) -> tuple[Node, ...]:
    """Apply `change` to every node, inner before outer; it may give several nodes, or none.

    What does not change stays the same object.
    """
    out: list[Node] = []
    same = True
    for node in nodes:
        inner: Node = node
        if isinstance(node, Loop):
            body = rewrite(node.body, change)
            if body is not node.body:
                kept = (node.name, node.extent, node.kind, node.reduce)
                inner = Loop(*kept, body, node.binds, node.intrinsic)
        changed = change(inner)
        same = same and changed is node
        if isinstance(changed, tuple):
            out.extend(changed)
        else:
            out.append(changed)
    return nodes if same else tuple(out)


def swap(nodes: tuple[Node, ...], name: str, change: Callable[[Loop], Node]) -> tuple[Node, ...]:
    """Replace the one loop called `name`; all that is not round it stays the same object."""
    for at, node in enumerate(nodes):
        if not isinstance(node, Loop):
            continue
        if node.name == name:
            return (*nodes[:at], change(node), *nodes[at + 1 :])
        body = swap(node.body, name, change)
        if body is not node.body:
            new = Loop(node.name, node.extent, node.kind, node.reduce, body, node.binds)
            return (*nodes[:at], new, *nodes[at + 1 :])
    return nodes


def nest_in(chain: tuple[Loop, ...], body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Put `body` into copies of the loops of `chain`, outermost first."""
    for loop in reversed(chain):
        body = (replace(loop, body=body),)
    return body


def product(extents: tuple[Extent, ...]) -> Extent:
    total: Extent = 1
    for extent in extents:
        total = total * extent
    return total


def strides(shape: tuple[Extent, ...]) -> tuple[Extent, ...]:
    """Return the row-major strides of a shape, in elements."""
    out: list[Extent] = []
    step: Extent = 1
    for extent in reversed(shape):
        out.append(step)
        step = step * extent
    return tuple(reversed(out))


def offset(shape: tuple[Extent, ...], index: tuple[Affine, ...]) -> Affine:
    """Return the flat row-major offset of an index, in elements."""
    total = Affine()
    for step, i in zip(strides(shape), index, strict=True):
        total = total + i * step
    return total
