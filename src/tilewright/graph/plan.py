"""Where in one block of memory each value of a graph lies, so that dead ones make room."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tilewright import dtypes
from tilewright.graph.ir import Graph, Node, Value
from tilewright.runtime.memory import padded


@dataclass(frozen=True, slots=True)
class Buffer:
    """Bytes `offset` to `offset + nbytes` of the arena, in use from node `first` to node `last`."""

    offset: int
    nbytes: int
    first: int
    last: int


@dataclass(frozen=True)
class Plan:
    """The memory of one run of a graph.

    `buffers` holds those of the arena by the name of the value that was first there; `roots` says
    for every value whose memory it shares: its own, or that of the value it is a view of, from the
    byte in `begins` on. A root without a buffer is an input, a constant or an output, which all lie
    in arrays of their own. `scratch` is the memory that a node needs while it runs, by the node's
    position.
    """

    buffers: Mapping[str, Buffer]
    roots: Mapping[str, str]
    nbytes: int
    scratch: Mapping[int, Buffer] = field(default_factory=dict[int, Buffer])
    begins: Mapping[str, int] = field(default_factory=dict[str, int])

    def buffer(self, name: str) -> Buffer | None:
        """Return the memory in the arena of which `name` is; None if it has an array of its own."""
        return self.buffers.get(self.roots[name])

    def __str__(self) -> str:
        lines = [f"arena of {self.nbytes} bytes"]
        scratch = {f"scratch of node {position}": b for position, b in self.scratch.items()}
        for name, b in (*self.buffers.items(), *scratch.items()):
            lines.append(f"  {b.offset:>10} + {b.nbytes:<10} nodes {b.first}-{b.last}  {name}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Need:
    """So many bytes, from node `first` to node `last`."""

    nbytes: int
    first: int
    last: int

    @property
    def size(self) -> int:
        return padded(self.nbytes)


def plan(graph: Graph, scratch: Mapping[int, int] | None = None) -> Plan:
    """Lay out what the nodes of `graph` make; no two values that are needed at once overlap.

    `scratch` is how many bytes the node at a position needs besides; they are free again when it
    is done. Offsets and the size of the arena are multiples of `ALIGNMENT`.
    """
    roots, begins, spans = _spans(graph)
    values = graph.values
    needs = [Need(values[name].nbytes, first, last) for name, (first, last) in spans.items()]
    at = {position: nbytes for position, nbytes in (scratch or {}).items() if nbytes}
    needs += [Need(nbytes, position, position) for position, nbytes in at.items()]
    offsets = arranged(needs)
    made = [
        Buffer(offset, need.nbytes, need.first, need.last)
        for offset, need in zip(offsets, needs, strict=True)
    ]
    return Plan(
        dict(zip(spans, made, strict=False)),
        roots,
        extent(needs, offsets),
        dict(zip(at, made[len(spans) :], strict=True)),
        begins,
    )


@dataclass(frozen=True, slots=True)
class View:
    """A value that is memory of another, from byte `begin` on: nothing runs to make it."""

    source: str
    begin: int = 0


def views(graph: Graph) -> dict[str, View]:
    """Return the values that are views: reshapes, and blocks of what lies in the arena."""
    arrays = {value.name for value in graph.inputs} | {*graph.constants, *graph.outputs}
    kept = set(graph.outputs)  # what lies in the array of an output
    for node in reversed(graph.nodes):
        if node.op == "reshape" and node.output.name in kept:
            kept.add(node.inputs[0])
    values, roots, found = graph.values, dict[str, str](), dict[str, View]()
    for node in graph.nodes:
        made, view = node.output.name, None
        if node.op == "reshape":
            view = View(node.inputs[0])
        elif node.op == "slice" and node.then is None and made not in kept:
            source = node.inputs[0]
            root = roots.get(source, source)
            block = None if {root, source} & (arrays | kept) else _block(node, values[source])
            view = None if block is None else View(source, block)
        if view is not None:
            found[made] = view
            roots[made] = roots.get(view.source, view.source)
    return found


def _block(node: Node, source: Value) -> int | None:
    """Return the byte at which a slice begins that is one block of memory; None for any other."""
    start, count, step = (node.attributes[name] for name in ("start", "count", "step"))
    assert isinstance(start, tuple)
    assert isinstance(count, tuple)
    assert isinstance(step, tuple)
    shape = source.shape
    cut = next((d for d, n in enumerate(count) if n != 1), len(shape))
    whole = all(n == extent for n, extent in zip(count[cut + 1 :], shape[cut + 1 :], strict=True))
    if not whole or any(n > 1 and by != 1 for n, by in zip(count, step, strict=True)):
        return None
    offset = 0
    for first, extent in zip(start, shape, strict=True):
        offset = offset * extent + int(first)
    return offset * dtypes.nbytes(source.dtype)


def _spans(
    graph: Graph,
) -> tuple[dict[str, str], dict[str, int], dict[str, tuple[int, int]]]:
    """Return whose memory each value shares and where, and from which to which node it is needed.

    Only roots that have to lie in the arena have a span.
    """
    roots = {name: name for name in graph.values}
    begins = dict.fromkeys(roots, 0)
    spans: dict[str, tuple[int, int]] = {}
    seen = views(graph)
    for position, node in enumerate(graph.nodes):
        for name in node.inputs:
            if roots[name] in spans:
                spans[roots[name]] = (spans[roots[name]][0], position)
        for value in node.outputs:
            view = seen.get(value.name)
            if view is not None:
                roots[value.name] = roots[view.source]
                begins[value.name] = begins[view.source] + view.begin
            else:
                spans[value.name] = (position, position)
    for name in graph.outputs:
        spans.pop(roots[name], None)
    return roots, begins, spans


def bound(needs: Sequence[Need]) -> int:
    """Return the most bytes that are needed at once, which no arrangement is below."""
    return max(_crowds(needs).values(), default=0)


def extent(needs: Iterable[Need], offsets: Iterable[int]) -> int:
    """Return the size of the block that an arrangement fills."""
    return max((o + n.size for n, o in zip(needs, offsets, strict=True)), default=0)


def arranged(needs: Sequence[Need]) -> list[int]:
    """Return an offset for each, so that those that are needed at once lie apart.

    They are placed one by one at the lowest offset that is free all the while. Which order wastes
    least differs from graph to graph, so several are tried: the first that reaches the bound
    ends it.
    """
    least, best = bound(needs), list[int]()
    for order in _orders(needs):
        offsets = _placed(needs, order)
        if not best or extent(needs, offsets) < extent(needs, best):
            best = offsets
        if extent(needs, best) == least:
            break
    return best


def _orders(needs: Sequence[Need]) -> Iterable[list[int]]:
    """Yield orders to place in: by size, by size and time, by the worst crowd, by time."""

    def by(*keys: Sequence[int]) -> list[int]:
        return sorted(range(len(needs)), key=lambda i: tuple(key[i] for key in keys))

    size = [-n.size for n in needs]
    first = [n.first for n in needs]
    yield by(size, first)
    yield by([-n.size * (n.last - n.first + 1) for n in needs], size, first)
    crowds = _crowds(needs)
    worst = [-max(c for at, c in crowds.items() if n.first <= at <= n.last) for n in needs]
    yield by(worst, size, first)
    yield by(worst, first, size)
    yield by([n.first - n.last for n in needs], size, first)


def _crowds(needs: Sequence[Need]) -> dict[int, int]:
    """Return how many bytes are needed at each node at which something begins."""
    starts = sorted({n.first for n in needs})
    return {at: sum(n.size for n in needs if n.first <= at <= n.last) for at in starts}


def _placed(needs: Sequence[Need], order: Iterable[int]) -> list[int]:
    offsets, placed = dict[int, int](), list[tuple[Need, int]]()
    for i in order:
        first, last = needs[i].first, needs[i].last
        busy = [(o, o + n.size) for n, o in placed if n.first <= last and first <= n.last]
        offsets[i] = _lowest(sorted(busy), needs[i].size)
        placed.append((needs[i], offsets[i]))
    return [offsets[i] for i in range(len(needs))]


def _lowest(busy: list[tuple[int, int]], size: int) -> int:
    """Return the lowest offset at which `size` bytes touch none of the sorted ranges `busy`."""
    offset = 0
    for begin, end in busy:
        if offset + size <= begin:
            break
        offset = max(offset, end)
    return offset
