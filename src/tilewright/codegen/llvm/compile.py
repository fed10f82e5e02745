"""LLVM text to object code, in the process, in milliseconds."""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm

from tilewright.errors import CompileError, TargetError
from tilewright.target import Target


@cache
def _initialised() -> None:
    # Addresses are hoisted by our emitter already; loop strength reduction would only spend four
    # fifths of the compile time on finding that out (docs/decisions/0001-no-lsr.md).
    llvm.set_option("tilewright", "-disable-lsr")
    # Source order keeps accumulators in registers where the scheduler would load ahead and spill.
    llvm.set_option("tilewright", "-enable-misched=false")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()


@cache
def machine(target: Target) -> Any:
    """Return LLVM's target machine; raise TargetError if LLVM does not know the target."""
    _initialised()
    try:
        found = llvm.Target.from_triple(target.triple)
        return found.create_target_machine(
            cpu=target.cpu,
            features=",".join(target.features),
            opt=2,
            reloc="pic",
            codemodel="small",
        )
    except RuntimeError as error:
        raise TargetError(f"cannot generate code for {target.name!r}: {error}") from error


def object_code(text: str, target: Target) -> bytes:
    """Compile a module to an object file; raise CompileError if the text is no valid module."""
    code_for = machine(target)
    context = llvm.create_context()
    try:
        parsed = llvm.parse_assembly(text, context)
    except RuntimeError as error:
        raise CompileError(
            f"generated code is not valid (a defect of tilewright): {error}"
        ) from error
    try:
        return bytes(code_for.emit_object(parsed))
    finally:
        parsed.close()


def assembly(text: str, target: Target) -> str:
    """Compile a module to assembly, to be read by a person."""
    code_for = machine(target)
    parsed = llvm.parse_assembly(text, llvm.create_context())
    return str(code_for.emit_assembly(parsed))
