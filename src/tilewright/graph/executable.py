"""A compiled network as plain data: to be run here, kept in a file, or linked into a library."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from tilewright.errors import ModelError
from tilewright.graph.ir import Value
from tilewright.graph.plan import ALIGNMENT, aligned
from tilewright.target import Target

Array = np.ndarray[Any, Any]
Region: TypeAlias = Literal["input", "output", "weight", "arena"]
Use: TypeAlias = Literal["read", "write", "scratch"]
REGIONS: tuple[Region, ...] = get_args(Region)
USES: tuple[Use, ...] = get_args(Use)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a kernel finds an array: the `at`-th of a region, or in the arena the byte `at`."""

    region: Region
    at: int

    def __str__(self) -> str:
        return f"{self.region} {self.at}"


@dataclass(frozen=True, slots=True)
class Parameter:
    """What a kernel does with the memory that it is given there, and how many bytes that has."""

    use: Use
    nbytes: int


@dataclass(frozen=True, slots=True)
class Kernel:
    """An object file that defines `name`, for so many parameters; `calls` are OpenMP's functions.

    Its entry is `void name(ptr arguments, i32 threads)`, as `codegen.llvm.module` says.
    """

    name: str
    code: bytes
    parameters: tuple[Parameter, ...] = ()
    calls: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Kernel({self.name}, {len(self.code)} bytes, {len(self.parameters)} parameters)"


@dataclass(frozen=True, slots=True)
class Call:
    """One run of the kernel of that number, for a node of the network.

    `nbytes` are those of the arrays that it reads and writes, weights as they lie in memory.
    """

    node: str
    work: str
    flops: int
    nbytes: int
    kernel: int
    places: tuple[Place, ...]

    def __repr__(self) -> str:
        return f"Call({self.node}: {self.work}, {self.flops} operations)"


@dataclass(frozen=True, slots=True)
class Copy:
    """An output that no kernel writes, as it is an input, a weight or another output as well."""

    source: Place
    output: int


@dataclass(frozen=True, eq=False)
class Executable:
    """Everything that a run needs but memory; `calls`, then `copies`, are done in order.

    `sequence` makes all calls: it reads the addresses of their kernels first, then those of their
    places. `weights` are arrays of bytes, packed as the kernels read them, `arena` is the size of
    the memory for what lies between, `untuned` the work that no record was found for.
    """

    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    kernels: tuple[Kernel, ...]
    sequence: Kernel
    calls: tuple[Call, ...]
    copies: tuple[Copy, ...]
    weights: tuple[Array, ...]
    arena: int
    target: Target
    threads: int
    untuned: tuple[str, ...] = ()

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, end)) for end in (self.inputs, self.outputs))
        return (
            f"Executable({inputs} -> {outputs}; {len(self.kernels)} kernels, "
            f"{sum(w.nbytes for w in self.weights)} bytes of weights)"
        )


def verify(executable: Executable) -> Executable:
    """Return `executable` if every kernel is given memory that there is, of the size it takes.

    Raise ModelError that says what does not fit.
    """
    _distinct("input", [value.name for value in executable.inputs])
    _distinct("kernel", [k.name for k in (*executable.kernels, executable.sequence)])
    room = _Room.of(executable)
    written = {copy.output for copy in executable.copies}
    end = 0
    for call in executable.calls:
        where = f"the call of {call.node!r}"
        if not 0 <= call.kernel < len(executable.kernels):
            raise ModelError(f"{where} is of kernel {call.kernel}, which there is not.")
        wanted = executable.kernels[call.kernel].parameters
        if len(wanted) != len(call.places):
            raise ModelError(f"{where} has {len(call.places)} places for {len(wanted)} parameters.")
        for parameter, place in zip(wanted, call.places, strict=True):
            room.check(where, place, parameter)
            if place.region == "arena":
                end = max(end, place.at + parameter.nbytes)
            elif parameter.use == "write":
                written.add(place.at)
    for copy in executable.copies:
        if not 0 <= copy.output < len(executable.outputs) or copy.source.region == "arena":
            raise ModelError(f"a copy of {copy.source} to output {copy.output} cannot be.")
        nbytes = executable.outputs[copy.output].nbytes
        room.check(f"output {copy.output}", copy.source, Parameter("read", nbytes))
    missing = [value.name for i, value in enumerate(executable.outputs) if i not in written]
    if missing:
        raise ModelError(f"nothing writes the outputs {', '.join(missing)}.")
    if executable.arena != aligned(end):
        raise ModelError(f"the calls use {end} bytes of an arena of {executable.arena}.")
    return executable


def _distinct(what: str, names: list[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ModelError(f"there are two of the {what} {twice[0]!r}.")


@dataclass(frozen=True)
class _Room:
    """How many bytes there are: of each array of a region, and in the arena."""

    arrays: dict[Region, list[int]]
    arena: int

    @staticmethod
    def of(executable: Executable) -> _Room:
        return _Room(
            {
                "input": [value.nbytes for value in executable.inputs],
                "output": [value.nbytes for value in executable.outputs],
                "weight": [weight.nbytes for weight in executable.weights],
            },
            executable.arena,
        )

    def check(self, where: str, place: Place, parameter: Parameter) -> None:
        """Raise ModelError unless a place has the bytes of a parameter, and may be used for it."""
        wanted = f"{where} wants {parameter.nbytes} bytes to {parameter.use} at {place}"
        if place.region == "arena":
            # What is read may be a block of a value: rows of it, say, which begin anywhere.
            begins = place.at >= 0 and (parameter.use == "read" or place.at % ALIGNMENT == 0)
            if not begins or place.at > self.arena - parameter.nbytes:
                raise ModelError(f"{wanted}, of an arena of {self.arena}.")
            return
        sizes = self.arrays[place.region]
        if not 0 <= place.at < len(sizes):
            raise ModelError(f"{wanted}, which there is not.")
        if sizes[place.at] != parameter.nbytes:
            raise ModelError(f"{wanted}, which has {sizes[place.at]}.")
        free = ("read", "write") if place.region == "output" else ("read",)
        if parameter.use not in free:
            raise ModelError(f"{wanted}, which is not there for that.")
