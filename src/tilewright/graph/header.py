"""An executable without its bytes, as JSON: what the header of a `.twm` file says.

A reader takes nothing on trust: each field has to be there, of its type and within bounds, or the
reason why not is raised as ValueError. Whether the whole makes sense is for `verify` to say.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tilewright import dtypes
from tilewright.errors import TargetError
from tilewright.graph.executable import (
    REGIONS,
    USES,
    Array,
    Call,
    Copy,
    Executable,
    Kernel,
    Parameter,
    Place,
)
from tilewright.graph.ir import Value
from tilewright.runtime.threads import MAX_THREADS
from tilewright.target import CALLS, Target

T = TypeVar("T")
MOST_BYTES = 1 << 48  # that any machine can address


def described(executable: Executable) -> dict[str, Any]:
    """Return everything but the code of kernels and the bytes of weights."""
    return {
        "inputs": [dataclasses.asdict(value) for value in executable.inputs],
        "outputs": [dataclasses.asdict(value) for value in executable.outputs],
        "kernels": [_kernel(kernel) for kernel in executable.kernels],
        "sequence": _kernel(executable.sequence),
        "calls": [
            {
                "node": call.node, "work": call.work, "flops": call.flops, "bytes": call.nbytes,
                "kernel": call.kernel, "places": [_place(place) for place in call.places],
            }
            for call in executable.calls
        ],
        "copies": [
            {"source": _place(copy.source), "output": copy.output} for copy in executable.copies
        ],
        "arena": executable.arena,
        "target": dataclasses.asdict(executable.target),
        "threads": executable.threads,
        "untuned": list(executable.untuned),
    }  # fmt: skip


def _kernel(kernel: Kernel) -> dict[str, Any]:
    parameters = [[parameter.use, parameter.nbytes] for parameter in kernel.parameters]
    return {"name": kernel.name, "parameters": parameters, "calls": list(kernel.calls)}


def _place(place: Place) -> list[Any]:
    return [place.region, place.at]


def executable_of(header: Any, codes: list[bytes], weights: list[Array]) -> Executable:
    """Return what `described` describes; `codes` are the kernels' and, last, the sequence's.

    Raise ValueError that says which field is not what it has to be.
    """
    read = Reader("header", header)
    kernels = read.field("kernels").each(_read_kernel)
    if len(codes) != len(kernels) + 1:
        raise ValueError(f"there are {len(codes)} pieces of code for {len(kernels)} kernels")
    return Executable(
        tuple(read.field("inputs").each(_read_value)),
        tuple(read.field("outputs").each(_read_value)),
        tuple(dataclasses.replace(k, code=c) for k, c in zip(kernels, codes, strict=False)),
        dataclasses.replace(_read_kernel(read.field("sequence")), code=codes[-1]),
        tuple(read.field("calls").each(_read_call)),
        tuple(read.field("copies").each(_read_copy)),
        tuple(weights),
        read.field("arena").whole(),
        target_of_header(header),
        read.field("threads").whole(1, MAX_THREADS),
        tuple(read.field("untuned").each(Reader.text)),
    )


def target_of_header(header: Any) -> Target:
    """Return the machine that the code is for; it is read before the rest is."""
    read = Reader("header", header).field("target")
    texts = (read.field(name).text() for name in ("name", "triple", "cpu"))
    name, triple, cpu = texts
    try:
        return Target(
            name, triple, cpu,
            features=tuple(read.field("features").each(Reader.text)),
            cores=read.field("cores").whole(1),
            vector_bytes=read.field("vector_bytes").whole(1),
            registers=read.field("registers").whole(1),
            caches=tuple(read.field("caches").each(Reader.whole)),
        )  # fmt: skip
    except TargetError as error:
        raise ValueError(f"its target is none: {error}") from error


@dataclass(frozen=True, slots=True)
class Reader:
    """A piece of JSON, and where it was found."""

    where: str
    data: Any

    def field(self, name: str) -> Reader:
        if not isinstance(self.data, dict) or name not in self.data:
            raise ValueError(f"{self.where} has no {name!r}")
        return Reader(f"{self.where}.{name}", self.data[name])

    def each(self, read: Callable[[Reader], T]) -> list[T]:
        if not isinstance(self.data, list):
            raise ValueError(f"{self.where} is no list")
        return [read(Reader(f"{self.where}[{i}]", each)) for i, each in enumerate(self.data)]

    def pair(self) -> tuple[Reader, Reader]:
        if not isinstance(self.data, list) or len(self.data) != 2:
            raise ValueError(f"{self.where} is no pair")
        return Reader(f"{self.where}[0]", self.data[0]), Reader(f"{self.where}[1]", self.data[1])

    def text(self) -> str:
        if not isinstance(self.data, str):
            raise ValueError(f"{self.where} is no text")
        return self.data

    def choice(self, known: tuple[T, ...]) -> T:
        for each in known:
            if self.data == each:
                return each
        raise ValueError(f"{self.where} is none of {', '.join(map(str, known))}")

    def whole(self, least: int = 0, most: int = MOST_BYTES) -> int:
        fits = isinstance(self.data, int) and not isinstance(self.data, bool)
        if not fits or not least <= self.data <= most:
            raise ValueError(f"{self.where} is no whole number from {least} to {most}")
        return self.data


def _read_value(read: Reader) -> Value:
    value = Value(
        read.field("name").text(),
        tuple(read.field("shape").each(Reader.whole)),
        read.field("dtype").choice(tuple(dtypes.LLVM)),
    )
    elements = 1
    for extent in value.shape:  # not `nbytes`, which is counted in 64 bits
        elements *= extent
    if elements * dtypes.nbytes(value.dtype) > MOST_BYTES or len(value.shape) > 64:
        raise ValueError(f"{read.where} has more bytes than a machine can address")
    return value


def _read_kernel(read: Reader) -> Kernel:
    name = read.field("name").text()
    if not (name.isascii() and name.isidentifier()):
        raise ValueError(f"{read.where}.name is no name of a function")
    return Kernel(
        name,
        b"",
        tuple(read.field("parameters").each(_read_parameter)),
        tuple(read.field("calls").each(lambda each: each.choice(CALLS))),
    )


def _read_parameter(read: Reader) -> Parameter:
    use, nbytes = read.pair()
    return Parameter(use.choice(USES), nbytes.whole())


def _read_place(read: Reader) -> Place:
    region, at = read.pair()
    return Place(region.choice(REGIONS), at.whole())


def _read_call(read: Reader) -> Call:
    return Call(
        read.field("node").text(),
        read.field("work").text(),
        read.field("flops").whole(0, 1 << 80),
        read.field("bytes").whole(0, 1 << 80),
        read.field("kernel").whole(),
        tuple(read.field("places").each(_read_place)),
    )


def _read_copy(read: Reader) -> Copy:
    return Copy(_read_place(read.field("source")), read.field("output").whole())
