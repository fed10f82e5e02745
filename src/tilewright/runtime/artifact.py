"""A compiled nest as plain data: it can be sent to another process, or kept in a file."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.errors import TargetError
from tilewright.loops.nodes import Buffer, Nest
from tilewright.runtime.cpu import surely_runs
from tilewright.target import Target, host


@dataclass(frozen=True, slots=True)
class Artifact:
    """Object code and the LLVM text that it was made of; how it is called, says `emit`.

    `code` is an object file that defines `name`, `parameters` what that is given pointers to,
    `arguments` the arrays of the expression, `calls` the functions of OpenMP's that it calls.
    """

    code: bytes
    name: str
    parameters: tuple[Buffer, ...]
    arguments: tuple[Buffer, ...]
    calls: tuple[str, ...]
    target: Target
    llvm: str

    @property
    def asm(self) -> str:
        """The machine code, to be read by a person."""
        from tilewright.codegen.llvm.compile import assembly

        return assembly(self.llvm, self.target)

    def __repr__(self) -> str:
        return f"Artifact({self.name} for {self.target.name}, {len(self.code)} bytes)"


def compile_nest(nest: Nest, target: Target, name: str = "kernel") -> Artifact:
    """Generate and compile code for a nest.

    Raise CompileError for a nest without code, TargetError for a target that LLVM does not know.
    """
    # Here, as what was compiled before is loaded and run without them.
    from tilewright.codegen.llvm.compile import object_code
    from tilewright.codegen.llvm.module import module

    made = module(nest, target, name)
    arguments = tuple(b for b in nest.buffers if b.scope in ("input", "constant") and not b.source)
    return Artifact(
        object_code(made.text, target), name, made.parameters, arguments, made.calls, target,
        made.text,
    )  # fmt: skip


def check_runs_here(target: Target) -> None:
    """Raise TargetError if this machine lacks what code for `target` needs."""
    if surely_runs(target):
        return
    here = host()  # which asks LLVM
    missing = [f for f in target.features if f.startswith("+") and f not in here.features]
    if target.architecture != here.architecture:
        reason = f"it is {target.triple}, and this machine is {here.triple}"
    elif target.vector_bytes > here.vector_bytes:
        reason = (
            f"it needs vectors of {target.vector_bytes * 8} bits, and {here.name} has "
            f"{here.vector_bytes * 8}"
        )
    elif missing and here.features and target != here:
        reason = f"{here.name} lacks {', '.join(missing)}"
    else:
        return
    raise TargetError(
        f"cannot run code for {target.name!r} here: {reason}. Use host(); emit(...) compiles for "
        "other machines, and tune(..., measure=...) takes a Measurer that runs code on one."
    )
