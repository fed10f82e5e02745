"""LLVM text to object code, in the process, in milliseconds."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from tilewright.errors import CompileError, TargetError
from tilewright.target import LEVELS, Target, host

# Compiles a sum of doubles for the machine that the arguments name.
_QUESTION = """
import sys, llvmlite.binding as llvm
triple, cpu, features = sys.argv[1:]
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
text = "define double @f(double %a) { %b = fadd double %a, %a  ret double %b }"
text = f'target triple = "{triple}"' + chr(10) + text
found = llvm.Target.from_triple(triple)
machine = found.create_target_machine(cpu=cpu, features=features, opt=2, codemodel="small")
machine.emit_object(llvm.parse_assembly(text))
"""


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
    if reason := _refusal(target):
        raise TargetError(
            f"cannot generate code for {target.name!r}: LLVM says of cpu {target.cpu!r} and its "
            f"{len(target.features)} features for {target.triple}: {reason}. Correct them, use "
            "host(), or name a level such as 'x86-64-v3'."
        )
    _initialised()
    try:
        found = llvm.Target.from_triple(target.triple)
        return found.create_target_machine(
            cpu=target.cpu,
            features=",".join(target.features),
            opt=1,  # 2 takes 15 % longer for code that is as fast
            reloc="pic",
            codemodel="small",
        )
    except RuntimeError as error:
        raise TargetError(f"cannot generate code for {target.name!r}: {error}") from error


def _refusal(target: Target) -> str:
    """Return what LLVM says against a machine that is neither this one nor a level, or nothing.

    It is asked in a process of its own, which it ends where a CPU makes no sense to it.
    """
    here = host()
    levels = ((level.triple.split("-")[0], level.cpu) for level in LEVELS.values())
    plain = not target.features and (target.architecture, target.cpu) in levels
    asked = (target.triple, target.cpu, ",".join(target.features))
    if plain or asked == (here.triple, here.cpu, ",".join(here.features)):
        return ""
    answer = subprocess.run(
        [sys.executable, "-c", _QUESTION, *asked], capture_output=True, text=True, check=False
    )
    lines = answer.stderr.splitlines()
    said = [x for x in lines if "LLVM ERROR" in x or "not a recognized" in x]
    if not said and answer.returncode:
        said = lines[-1:] or ["nothing, and it ends the process"]
    return said[0].rstrip(".!") if said else ""


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
