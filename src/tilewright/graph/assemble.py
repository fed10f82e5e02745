"""From the work of each node to an executable: memory is planned, and every place becomes known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright import dtypes
from tilewright.codegen.llvm.compile import object_code
from tilewright.codegen.llvm.module import repeat
from tilewright.codegen.llvm.team import on_a_team
from tilewright.graph.executable import (
    Array,
    Call,
    Copy,
    Executable,
    Kernel,
    Parameter,
    Place,
    Use,
)
from tilewright.graph.ir import Graph, Node
from tilewright.graph.memory import verify
from tilewright.graph.plan import Plan, plan
from tilewright.loops.nodes import Buffer, product
from tilewright.runtime.artifact import Artifact
from tilewright.runtime.memory import padded, together
from tilewright.target import Target


@dataclass(frozen=True, eq=False)
class Work:
    """What runs for a node, and what each parameter is: a value of the graph, an array or scratch.

    Works of one artifact become calls of one kernel, and one array is kept once however often it is
    named.
    """

    node: Node
    name: str
    flops: int
    artifact: Artifact
    places: tuple[str | Array | Buffer, ...]


def assemble(
    graph: Graph, works: Sequence[Work], target: Target, threads: int, untuned: tuple[str, ...] = ()
) -> Executable:
    """Lay out the memory of a run, and point each parameter of each kernel into it."""
    positions = {id(node): i for i, node in enumerate(graph.nodes)}
    scratch = {positions[id(work.node)]: sum(map(_room, work.places)) for work in works}
    values, layout, weights = graph.values, plan(graph, scratch), _Weights()
    find = _Finder(graph, layout, weights)
    kernels = {work.artifact.name: _kernel(work.artifact) for work in works}
    numbers = {name: i for i, name in enumerate(kernels)}
    calls: list[Call] = []
    for work in works:
        kernel = kernels[work.artifact.name]
        nbytes = sum(p.nbytes for p in kernel.parameters if p.use != "scratch")
        places = find.places(work, positions[id(work.node)])
        number = numbers[kernel.name]
        calls.append(Call(work.node.name, work.name, work.flops, nbytes, number, places))
    return verify(
        Executable(
            graph.inputs,
            tuple(values[name] for name in graph.outputs),
            tuple(kernels.values()),
            sequence(calls, target, shared=any(kernel.calls for kernel in kernels.values())),
            tuple(calls),
            find.copies(),
            tuple(together(weights.arrays)),
            _extent(calls, list(kernels.values())),
            target,
            threads,
            untuned,
        )
    )


class _Weights:
    """Arrays in the order in which they were first asked for."""

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self._numbers: dict[int, int] = {}
        self._held: list[Array] = []  # an id is that of its array as long as that lives

    def number(self, array: Array) -> int:
        if id(array) not in self._numbers:
            self._numbers[id(array)] = len(self.arrays)
            self._held.append(array)
            self.arrays.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        return self._numbers[id(array)]


class _Finder:
    """Where the values of a graph lie: in whose array, or where in the arena."""

    def __init__(self, graph: Graph, layout: Plan, weights: _Weights) -> None:
        self._graph, self._layout, self._weights = graph, layout, weights
        self._homes = {name: Place("arena", b.offset) for name, b in layout.buffers.items()}
        for i, name in reversed(list(enumerate(graph.outputs))):  # the first of several has it
            self._homes[layout.roots[name]] = Place("output", i)
        self._homes |= {value.name: Place("input", i) for i, value in enumerate(graph.inputs)}

    def places(self, work: Work, position: int) -> tuple[Place, ...]:
        """Return the places of a work; its pieces of scratch memory follow each other."""
        block, used = self._layout.scratch.get(position), 0
        found: list[Place] = []
        for place in work.places:
            if isinstance(place, str):
                found.append(self.place(place))
            elif isinstance(place, Buffer):
                found.append(Place("arena", (block.offset if block else 0) + used))
                used += _room(place)
            else:
                found.append(Place("weight", self._weights.number(place)))
        return tuple(found)

    def place(self, name: str) -> Place:
        root = self._layout.roots[name]
        constant = self._graph.constants.get(root)
        if constant is not None:
            return Place("weight", self._weights.number(constant))
        home, begin = self._homes[root], self._layout.begins[name]
        return replace(home, at=home.at + begin) if begin else home

    def copies(self) -> tuple[Copy, ...]:
        """Return what fills the outputs that are not the place of their own root."""
        sources = enumerate(map(self.place, self._graph.outputs))
        return tuple(Copy(place, i) for i, place in sources if place != Place("output", i))


def _kernel(artifact: Artifact) -> Kernel:
    uses: Mapping[str, Use] = {"output": "write", "workspace": "scratch"}
    parameters = tuple(
        Parameter(uses.get(b.scope, "read"), _nbytes(b)) for b in artifact.parameters
    )
    return Kernel(artifact.name, artifact.code, parameters, artifact.calls)


def _nbytes(buffer: Buffer) -> int:
    return int(product(buffer.shape)) * dtypes.nbytes(buffer.dtype)


def _room(place: str | Array | Buffer) -> int:
    return padded(_nbytes(place)) if isinstance(place, Buffer) else 0


def _extent(calls: Sequence[Call], kernels: Sequence[Kernel]) -> int:
    ends = [
        place.at + parameter.nbytes
        for call in calls
        for place, parameter in zip(call.places, kernels[call.kernel].parameters, strict=True)
        if place.region == "arena"
    ]
    return padded(max(ends, default=0))


def sequence(calls: Sequence[Call], target: Target, *, shared: bool) -> Kernel:
    """Return code that makes all calls, in order, from one table of addresses, on a team or none.

    First in it are the addresses of the kernels, one for each call, then those of their places.
    """
    lines = [
        f'target triple = "{target.triple}"',
        "define void @net(ptr %table, ptr %team) #0 {",
        "  call void @team.walk(ptr %table, ptr %team)\n  ret void\n}",
        *walk(calls),
        repeat("net", "ptr %team"),
        on_a_team(target, shared=shared),
        "attributes #0 = { nounwind }",
    ]
    return Kernel("net", object_code("\n".join(lines), target))


def walk(calls: Sequence[Call]) -> list[str]:
    """Return `walk(table, team)`, in which a team is ready."""
    lines, start = ["define internal void @walk(ptr %table, ptr %team) #0 {"], len(calls)
    for i, call in enumerate(calls):
        lines.append(f"  %k{i} = getelementptr ptr, ptr %table, i64 {i}")
        lines.append(f"  %f{i} = load ptr, ptr %k{i}")
        lines.append(f"  %a{i} = getelementptr ptr, ptr %table, i64 {start}")
        lines.append(f"  call void %f{i}(ptr %a{i}, ptr %team)")
        start += len(call.places)
    return [*lines, "  ret void", "}"]
