"""The loop nest: loops with names and kinds, blocks that store, buffers with a scope.

All nodes are frozen; a schedule step makes a new nest. An extent, a shape or a coefficient may be
an integer array with one entry for each candidate of a population that shares its structure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from tilewright.expr.affine import Affine, Extent, text
from tilewright.expr.parts import loads
from tilewright.expr.scalar import Load, Scalar, Within
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
    # What is found in it, once: steps share the loops that they leave as they are.
    _inside: dict[str, Loop] | None = field(default=None, init=False, repr=False, compare=False)
    _paths: tuple[Path, ...] | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def inside(self) -> dict[str, Loop]:
        """The loops in it by name, outer before inner."""
        found = self._inside
        if found is None:
            chain, rest = _straight(self)
            found = {loop.name: loop for loop in chain}
            for node in rest:
                if isinstance(node, Loop):
                    found[node.name] = node
                    found |= node.inside
            object.__setattr__(self, "_inside", found)
        return found

    def may_hold(self, name: str) -> bool:
        """Whether it can be or hold the loop `name`, as far as is known without a look into it."""
        return self._inside is None or self.name == name or name in self._inside

    @property
    def paths(self) -> tuple[Path, ...]:
        """The blocks in it, each with the loops between, outermost first."""
        found = self._paths
        if found is None:
            chain, rest = _straight(self)
            found = tuple(((*chain, *inner), block) for inner, block in walk(rest))
            object.__setattr__(self, "_paths", found)
        return found

    def holding(self, body: tuple[Node, ...]) -> Loop:
        """Return the same loop with another body."""
        if body is self.body:
            return self
        kept = (self.name, self.extent, self.kind, self.reduce)
        return Loop(*kept, body, self.binds, self.intrinsic)


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
    _loads: tuple[Load, ...] | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def loads(self) -> tuple[Load, ...]:
        """What the value loads, left to right."""
        found = self._loads
        if found is None:
            found = tuple(loads(self.value))
            object.__setattr__(self, "_loads", found)
        return found


Node: TypeAlias = Loop | Block


@dataclass(frozen=True, slots=True)
class Nest:
    """A program: its buffers, inputs first in the order of the arguments, and its loops."""

    name: str
    buffers: tuple[Buffer, ...]
    body: tuple[Node, ...]
    by_name: dict[str, Buffer] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {b.name: b for b in self.buffers})

    def __str__(self) -> str:
        from tilewright.loops.show import show

        return show(self)

    @property
    def loops(self) -> dict[str, Loop]:
        """The loops by name, outer before inner."""
        found: dict[str, Loop] = {}
        for root in self.body:
            if isinstance(root, Loop):
                found[root.name] = root
                found |= root.inside
        return found

    @property
    def parameters(self) -> tuple[Buffer, ...]:
        """The buffers that live outside: arguments, constants, outputs and workspace."""
        return tuple(b for b in self.buffers if b.scope not in ("local", "register"))

    def holding(self, body: tuple[Node, ...], buffers: tuple[Buffer, ...] | None = None) -> Nest:
        """Return the nest with another body, and with other buffers if they are given."""
        return Nest(self.name, self.buffers if buffers is None else buffers, body)


def walk(nodes: tuple[Node, ...]) -> Iterator[Path]:
    """Yield every block with the loops round it, outermost first."""
    for node in nodes:
        if isinstance(node, Loop):
            for inner, block in node.paths:
                yield (node, *inner), block
        else:
            yield (), node


Path: TypeAlias = tuple[tuple[Loop, ...], Block]


def _straight(loop: Loop) -> tuple[list[Loop], tuple[Node, ...]]:
    """Return the loops that a loop holds directly, one in the other, and what the last one holds.

    Only where there are several nodes it pays to know what is in each of them.
    """
    chain: list[Loop] = []
    nodes = loop.body
    while len(nodes) == 1 and isinstance(nodes[0], Loop):
        chain.append(nodes[0])
        nodes = nodes[0].body
    return chain, nodes


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
            inner = node.holding(rewrite(node.body, change))
        changed = change(inner)
        same = same and changed is node
        if isinstance(changed, tuple):
            out.extend(changed)
        else:
            out.append(changed)
    return nodes if same else tuple(out)


def around(nodes: tuple[Node, ...], name: str) -> tuple[Loop, ...]:
    """Return the loops from the root down to the one called `name`, it included."""
    for root in nodes:
        chain: list[Loop] = []
        node = root
        while isinstance(node, Loop) and node.may_hold(name):
            chain.append(node)
            if node.name == name:
                return tuple(chain)
            if len(node.body) != 1:
                inner = around(node.body, name)
                if inner:
                    return (*chain, *inner)
                break
            node = node.body[0]
    return ()


def swap(nodes: tuple[Node, ...], name: str, change: Callable[[Loop], Node]) -> tuple[Node, ...]:
    """Replace the one loop called `name`; all that is not round it stays the same object."""
    chain = around(nodes, name)
    if not chain:
        return nodes
    old, new = chain[-1], change(chain[-1])
    for outer in reversed(chain[:-1]):
        old, new = outer, outer.holding(_put(outer.body, old, new))
    return _put(nodes, old, new)


def _put(nodes: tuple[Node, ...], old: Node, new: Node) -> tuple[Node, ...]:
    return (new,) if len(nodes) == 1 else tuple([new if node is old else node for node in nodes])


def nest_in(chain: tuple[Loop, ...], body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Put `body` into copies of the loops of `chain`, outermost first."""
    for loop in reversed(chain):
        body = (loop.holding(body),)
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
    constant: Extent = 0
    terms: list[tuple[str, Extent]] = []
    for step, i in zip(strides(shape), index, strict=True):
        constant = constant + i.constant * step
        terms.extend([(name, coefficient * step) for name, coefficient in i.terms])
    return Affine.sum(constant, terms)
