"""Where in one block of memory each value of a graph lies, so that dead ones make room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.graph.ir import Graph

ALIGNMENT = 64  # bytes: a cache line, and the widest vector


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
    for every value whose memory it shares: its own, or that of the value it is a reshape of. A
    root without a buffer is an input or a constant. Outputs stay whole to the end.
    """

    buffers: Mapping[str, Buffer]
    roots: Mapping[str, str]
    nbytes: int

    def buffer(self, name: str) -> Buffer | None:
        """Return where `name` lies in the arena; None if it lies in an input or a constant."""
        return self.buffers.get(self.roots[name])

    def __str__(self) -> str:
        lines = [f"arena of {self.nbytes} bytes"]
        for name, b in self.buffers.items():
            lines.append(f"  {b.offset:>10} + {b.nbytes:<10} nodes {b.first}-{b.last}  {name}")
        return "\n".join(lines)


def plan(graph: Graph) -> Plan:
    """Lay out what the nodes of `graph` make; no two values that are needed at once overlap.

    Buffers are placed greedily, the largest first, each at the lowest offset that is free while
    it is in use. Offsets and the size of the arena are multiples of `ALIGNMENT`.
    """
    roots, spans = _spans(graph)
    values = graph.values
    sizes = {name: -(-values[name].nbytes // ALIGNMENT) * ALIGNMENT for name in spans}
    placed: dict[str, Buffer] = {}
    for name in sorted(spans, key=lambda name: (-sizes[name], spans[name])):
        first, last = spans[name]
        busy = sorted(
            (b.offset, b.offset + sizes[other])
            for other, b in placed.items()
            if b.first <= last and first <= b.last
        )
        offset = _lowest(busy, sizes[name])
        placed[name] = Buffer(offset, values[name].nbytes, first, last)
    nbytes = max((b.offset + sizes[name] for name, b in placed.items()), default=0)
    return Plan({name: placed[name] for name in spans}, roots, nbytes)


def _spans(graph: Graph) -> tuple[dict[str, str], dict[str, tuple[int, int]]]:
    """Return whose memory each value shares, and from which to which node each root is needed."""
    roots = {name: name for name in graph.values}
    spans: dict[str, tuple[int, int]] = {}
    for position, node in enumerate(graph.nodes):
        for name in node.inputs:
            if roots[name] in spans:
                spans[roots[name]] = (spans[roots[name]][0], position)
        if node.op == "reshape":
            roots[node.output.name] = roots[node.inputs[0]]
        else:
            spans[node.output.name] = (position, position)
    for name in graph.outputs:
        if roots[name] in spans:
            spans[roots[name]] = (spans[roots[name]][0], len(graph.nodes))
    return roots, spans


def _lowest(busy: list[tuple[int, int]], size: int) -> int:
    """Return the lowest offset at which `size` bytes touch none of the sorted ranges `busy`."""
    offset = 0
    for begin, end in busy:
        if offset + size <= begin:
            break
        offset = max(offset, end)
    return offset
