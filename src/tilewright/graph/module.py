"""A compiled network: machine code, packed weights, planned memory; one call runs it all."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from tilewright.codegen.llvm.compile import object_code
from tilewright.codegen.llvm.module import repeat
from tilewright.errors import ArgumentError
from tilewright.graph.ir import Graph, Value
from tilewright.graph.plan import Plan
from tilewright.loops.nodes import Buffer, product
from tilewright.runtime.artifact import Artifact
from tilewright.runtime.kernel import as_array
from tilewright.runtime.load import Loaded, Loader, pointers
from tilewright.runtime.memory import ALIGNMENT, empty
from tilewright.runtime.threads import checked
from tilewright.target import Target

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Call:
    """One kernel call: where each parameter lies (a value of the graph, an array, or scratch)."""

    node: str
    work: str
    flops: int
    artifact: Artifact
    places: tuple[str | Array | Buffer, ...]

    def __repr__(self) -> str:
        return f"Call({self.node}: {self.work}, {self.flops} operations)"


class Module:
    """A network ready to run: `module(x)` or `module(name=x, ...)` on arrays.

    What it returns is new at each call. It holds its own memory for what lies between, so calls
    from several threads wait for each other; compile another module to run two at once.
    """

    def __init__(
        self,
        graph: Graph,
        calls: tuple[Call, ...],
        plan: Plan,
        target: Target,
        threads: int,
        untuned: tuple[str, ...] = (),
    ) -> None:
        self.untuned = untuned  # work that no record was found for
        self.graph, self.calls, self.plan, self.threads = graph, calls, plan, threads
        self._alone = Lock()  # held by a call while it uses the memory and the table of addresses
        self._loader = Loader(recycle=1 << 30)
        self._arena = empty((max(1, plan.nbytes),), "uint8")
        self._scratch = empty((max(1, max(map(_scratch, calls), default=0)),), "uint8")
        loaded: dict[str, Loaded] = {}
        for call in calls:
            if call.artifact.name not in loaded:
                loaded[call.artifact.name] = self._loader.load(call.artifact)
        self._loaded = loaded
        self._patches: dict[str, list[int]] = {}
        addresses: list[int] = []
        self._starts: list[int] = []
        for call in calls:
            self._starts.append(len(addresses))
            self._place(call, addresses)
        self._table = pointers(addresses)
        self._entry = self._loader.load(_sequence(calls, self._starts, loaded, target))
        self._values = graph.values

    def __repr__(self) -> str:
        values = self.graph.values
        ends = (self.inputs, (values[name] for name in self.graph.outputs))
        inputs, outputs = (", ".join(map(str, end)) for end in ends)
        return (
            f"Module({inputs} -> {outputs}; {len(self.calls)} kernels, "
            f"{len(self.untuned)} untuned, threads={self.threads})"
        )

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.graph.inputs

    @property
    def peak_bytes(self) -> int:
        """Bytes of memory for activations and scratch; weights are not counted."""
        return self._arena.nbytes + self._scratch.nbytes

    def __call__(self, *arrays: Any, threads: int | None = None, **named: Any) -> Any:
        """Run the network; return its output, or a tuple of them.

        Arrays are given in the order of `inputs`, or by name. Raise ArgumentError, which lists all
        that is wrong, if they do not fit.
        """
        count, given = checked(threads, self.threads), self._check(arrays, named)
        with self._alone:
            results = self._run(given, count)
        return results[0] if len(results) == 1 else results

    def _run(self, given: Mapping[str, Array], threads: int) -> tuple[Array, ...]:
        outputs: dict[str, Array] = {}
        for name in self.graph.outputs:
            value = self._values[name]
            outputs[name] = empty(value.shape, value.dtype)
        self._bind(given, outputs)
        self._entry.run(self._table, threads)
        return tuple(self._result(name, given, outputs) for name in self.graph.outputs)

    def profile(
        self, *arrays: Any, threads: int | None = None, repeats: int = 20
    ) -> list[tuple[Call, float]]:
        """Run kernel by kernel; return each call with its least time in seconds."""
        count, given = checked(threads, self.threads), self._check(arrays, {})
        best = [float("inf")] * len(self.calls)
        with self._alone:
            held = self._run(given, count)  # the kernels write to it below
            for _ in range(repeats):
                for i, call in enumerate(self.calls):
                    at = ctypes.addressof(self._table) + 8 * self._starts[i]
                    begin = time.perf_counter_ns()
                    self._loaded[call.artifact.name].run(at, count)
                    best[i] = min(best[i], (time.perf_counter_ns() - begin) * 1e-9)
            del held
        return list(zip(self.calls, best, strict=True))

    def _place(self, call: Call, addresses: list[int]) -> None:
        scratch = 0
        for place in call.places:
            if isinstance(place, Buffer):
                addresses.append(self._scratch.ctypes.data + scratch)
                scratch += _size(place)
            elif isinstance(place, str):
                root = self.plan.roots[place]
                buffer = self.plan.buffer(place)
                self._patches.setdefault(root, []).append(len(addresses))
                addresses.append(self._arena.ctypes.data + buffer.offset if buffer else 0)
            else:
                addresses.append(place.ctypes.data)

    def _bind(self, given: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        """Point the kernels that read inputs or make outputs at the caller's arrays."""
        for name, array in (*outputs.items(), *given.items()):
            root = self.plan.roots[name]
            if name in given or (root not in given and root not in self.graph.constants):
                for position in self._patches.get(root, ()):
                    self._table[position] = array.ctypes.data

    def _result(self, name: str, given: Mapping[str, Array], outputs: Mapping[str, Array]) -> Array:
        root = self.plan.roots[name]
        source = given.get(root, self.graph.constants.get(root))
        if source is None:
            source = next(
                a for n, a in reversed(list(outputs.items())) if self.plan.roots[n] == root
            )
        if source is not outputs[name]:
            outputs[name][...] = source.reshape(outputs[name].shape)
        return outputs[name]

    def _check(self, arrays: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Array]:
        wanted = {value.name: value for value in self.inputs}
        given = dict(zip(wanted, arrays, strict=False)) | dict(named)
        problems = [f"there is no input {name!r}" for name in named if name not in wanted]
        twice = [name for name, _ in zip(wanted, arrays, strict=False) if name in named]
        problems += [f"{name!r} is given twice" for name in twice]
        if len(arrays) > len(wanted):
            problems.append(f"{len(arrays)} arrays for {len(wanted)} inputs")
        checked: dict[str, Array] = {}
        for name, value in wanted.items():
            if name not in given:
                problems.append(f"{value} is missing")
                continue
            raw = given[name]
            if not hasattr(raw, "__dlpack__"):
                problems.append(f"{value} is given as {type(raw).__name__}")
                continue
            try:
                raw = as_array(str(value), raw)
            except ArgumentError as error:
                problems.append(str(error).rstrip("."))
                continue
            if raw.shape != value.shape or raw.dtype != value.dtype:
                problems.append(f"{value} is given as {raw.dtype} {'x'.join(map(str, raw.shape))}")
            checked[name] = np.ascontiguousarray(raw)
        if problems:
            listed = ", ".join(map(str, self.inputs))
            raise ArgumentError(f"cannot run: {'; '.join(problems)}. The inputs are {listed}.")
        return checked


def _size(buffer: Buffer) -> int:
    nbytes = int(product(buffer.shape)) * np.dtype(buffer.dtype).itemsize
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _scratch(call: Call) -> int:
    return sum(_size(place) for place in call.places if isinstance(place, Buffer))


def _sequence(
    calls: tuple[Call, ...], starts: list[int], loaded: Mapping[str, Loaded], target: Target
) -> Artifact:
    """Return code that runs all kernels in order, each with its part of the table."""
    lines = [
        f'target triple = "{target.triple}"',
        "define void @net(ptr %table, i32 %threads) #0 {",
    ]
    for i, (call, start) in enumerate(zip(calls, starts, strict=True)):
        entry = loaded[call.artifact.name].entry
        lines.append(f"  %a{i} = getelementptr ptr, ptr %table, i64 {start}")
        lines.append(f"  call void inttoptr (i64 {entry} to ptr)(ptr %a{i}, i32 %threads)")
    lines += ["  ret void", "}", repeat("net"), "attributes #0 = { nounwind }"]
    text = "\n".join(lines)
    return Artifact(object_code(text, target), "net", (), (), (), target, text)
