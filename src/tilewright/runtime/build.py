"""build: from a schedule, an expression or a record to a kernel."""

from __future__ import annotations

from tilewright.expr.tensor import Tensor
from tilewright.runtime.artifact import check_runs_here, compile_nest
from tilewright.runtime.kernel import Kernel
from tilewright.runtime.threads import checked
from tilewright.schedule.schedule import Schedule
from tilewright.target import Target, host


def build(
    what: Schedule | Tensor, target: Target | None = None, *, threads: int | None = None
) -> Kernel:
    """Compile a schedule, or an expression as it stands, and load it into this process.

    `threads` is how many threads its parallel loops use unless a call says otherwise (default: the
    target's cores). Raise CompileError if no code can be made, TargetError if it cannot run here.
    """
    target = target or host()
    check_runs_here(target)
    schedule = what if isinstance(what, Schedule) else Schedule(what)
    return Kernel(schedule, compile_nest(schedule.loops, target), checked(threads, target.cores))
