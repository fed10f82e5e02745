"""build and emit: from a schedule or an expression to a kernel here, or to code for any machine."""

from __future__ import annotations

import re

from tilewright.errors import ArgumentError
from tilewright.expr.tensor import Tensor
from tilewright.runtime.artifact import Artifact, check_runs_here, compile_nest
from tilewright.runtime.kernel import Kernel
from tilewright.runtime.threads import checked
from tilewright.schedule.schedule import Schedule
from tilewright.target import Target, target_of


def build(
    what: Schedule | Tensor, target: Target | str | None = None, *, threads: int | None = None
) -> Kernel:
    """Compile a schedule, or an expression as it stands, and load it into this process.

    `threads` is how many threads its parallel loops use unless a call says otherwise (default: the
    target's cores). Raise CompileError if no code can be made, TargetError if it cannot run here.
    """
    target = target_of(target)
    check_runs_here(target)
    schedule = _schedule(what)
    return Kernel(schedule, compile_nest(schedule.loops, target), checked(threads, target.cores))


def emit(
    what: Schedule | Tensor, target: Target | str | None = None, *, name: str = "kernel"
) -> Artifact:
    """Compile a schedule, or an expression as it stands, for a machine that need not be this one.

    Nothing is loaded or run: the artifact holds the object file (`code`), and shows it as `llvm`
    and `asm`. Its function `name` is to be called with an array of pointers to its `parameters`, in
    order, and the number of threads (int32). A parameter with a `source` holds that input packed
    (`loops.interpret.packed`), one whose scope is "workspace" is scratch memory. Linking takes the
    C and math libraries, and OpenMP's if there are `calls`. Raise CompileError if no code can be
    made, TargetError for a target that LLVM does not know.

    >>> import tilewright as tw
    >>> a = tw.tensor("A", (64,))
    >>> made = emit(tw.compute("B", (64,), lambda i: a[i] * 2.0), "aarch64", name="twice")
    >>> made.code[1:4], "twice:" in made.asm
    (b'ELF', True)
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"cannot name a function {name!r}: give a name as of C, of letters, digits and _."
        )
    return compile_nest(_schedule(what).loops, target_of(target), name)


def _schedule(what: object) -> Schedule:
    if isinstance(what, Schedule):
        return what
    if not isinstance(what, Tensor | type) and callable(getattr(what, "expression", None)):
        raise ArgumentError(
            f"cannot build the operator {what!r}: give a schedule of it. Task(operator).fallback() "
            "needs no measurement, tune(operator, trials=...).best is the fastest found, and "
            "operator.expression() is built as it stands."
        )
    if not isinstance(what, Tensor):
        raise ArgumentError(
            f"cannot build {what!r} ({type(what).__name__}): give an expression made by "
            "compute(...), a Schedule, or the best of a result; compile(...) takes networks."
        )
    if what.stage is None:
        raise ArgumentError(
            f"cannot build {what.name!r}: it is an input, and there is nothing to compute; "
            "give what compute(...) makes of it."
        )
    return Schedule(what)
