"""A compiled nest as plain data: it can be sent to another process, or kept in a file."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.codegen.llvm.compile import object_code
from tilewright.codegen.llvm.module import module
from tilewright.errors import TargetError
from tilewright.loops.nodes import Buffer, Nest
from tilewright.target import Target, host


@dataclass(frozen=True, slots=True)
class Artifact:
    """Object code, its symbol, the parameters in order, the external functions that it calls."""

    code: bytes
    name: str
    parameters: tuple[Buffer, ...]
    arguments: tuple[Buffer, ...]
    calls: tuple[str, ...]
    target: Target
    text: str


def compile_nest(nest: Nest, target: Target, name: str = "kernel") -> Artifact:
    """Generate and compile code for a nest.

    Raise CompileError for a nest without code, TargetError for a target that LLVM does not know.
    """
    made = module(nest, target, name)
    arguments = tuple(b for b in nest.buffers if b.scope in ("input", "constant") and not b.source)
    return Artifact(
        object_code(made.text, target), name, made.parameters, arguments, made.calls, target,
        made.text,
    )  # fmt: skip


def check_runs_here(target: Target) -> None:
    """Raise TargetError if this machine lacks what code for `target` needs."""
    here = host()
    if target.triple.split("-")[0] != here.triple.split("-")[0]:
        raise TargetError(
            f"cannot run code for {target.name!r} ({target.triple}) here: this machine is "
            f"{here.triple}. Compile for host(), or run it on the board."
        )
    if target.vector_bytes > here.vector_bytes:
        raise TargetError(
            f"cannot run code for {target.name!r} here: it needs vectors of "
            f"{target.vector_bytes * 8} bits, and {here.name} has {here.vector_bytes * 8}."
        )
    missing = [
        f for f in target.features if f.startswith("+") and f not in here.features
    ] if here.features else []  # fmt: skip
    if missing and target != here:
        raise TargetError(
            f"cannot run code for {target.name!r} here: {here.name} lacks {', '.join(missing)}."
        )
