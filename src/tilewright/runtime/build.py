"""build: from a schedule, an expression or a record to a kernel."""

from __future__ import annotations

from tilewright.errors import ArgumentError
from tilewright.expr.tensor import Tensor
from tilewright.runtime.artifact import check_runs_here, compile_nest
from tilewright.runtime.kernel import Kernel
from tilewright.runtime.threads import checked
from tilewright.schedule.schedule import Schedule
from tilewright.target import Target, host


def build(
    what: Schedule | Tensor, target: Target | str | None = None, *, threads: int | None = None
) -> Kernel:
    """Compile a schedule, or an expression as it stands, and load it into this process.

    `threads` is how many threads its parallel loops use unless a call says otherwise (default: the
    target's cores). Raise CompileError if no code can be made, TargetError if it cannot run here.
    """
    target = Target(target) if isinstance(target, str) else target or host()
    check_runs_here(target)
    schedule = _schedule(what)
    return Kernel(schedule, compile_nest(schedule.loops, target), checked(threads, target.cores))


def _schedule(what: object) -> Schedule:
    if isinstance(what, Schedule):
        return what
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
