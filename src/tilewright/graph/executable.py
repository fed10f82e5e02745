"""A compiled network as plain data: to be run here, kept in a file, or linked into a library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from tilewright.graph.ir import Value
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

    Its entries are `void name(ptr arguments, i32 threads)` and, but for that of an executable's
    sequence, `void name.within(ptr arguments, ptr team)`, as `codegen.llvm.team` says.
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

    `sequence` makes all calls: it reads the addresses of their kernels first, of the entries that
    take a team, then those of their places. `weights` are arrays of bytes, packed as the kernels
    read them, `arena` is the size of the memory for what lies between, `untuned` the work that no
    record was found for.
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

    @property
    def shared(self) -> bool:
        """Whether there are loops that threads share."""
        return any(kernel.calls for kernel in self.kernels)

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, end)) for end in (self.inputs, self.outputs))
        return (
            f"Executable({inputs} -> {outputs}; {len(self.kernels)} kernels, "
            f"{sum(w.nbytes for w in self.weights)} bytes of weights)"
        )
