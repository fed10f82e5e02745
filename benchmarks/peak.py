"""The machine's measured FMA limit, and that of each x86 level: python -m benchmarks.peak

SSE has no fused multiply-add: there the limit is of multiplications and additions, one of each for
every multiply-add, which do not depend on each other.
"""

from __future__ import annotations

import time
from functools import cache

from benchmarks.machine import facts
from tilewright.codegen.llvm.compile import object_code
from tilewright.codegen.llvm.module import repeat
from tilewright.errors import TargetError
from tilewright.measure.peak import best_of, peak
from tilewright.runtime.artifact import Artifact, check_runs_here
from tilewright.runtime.load import Loaded, Loader, pointers
from tilewright.target import LEVELS, Target

_ROUNDS = 128_000
_CHAINS = 6  # of each kind: with the operands, they fill the sixteen registers


def level_peak(target: Target, samples: int = 20) -> float:
    """Return the most float32 operations a second that one thread does with a target's vectors."""
    if target.has("fma"):
        return peak(target, samples=samples)
    check_runs_here(target)
    loaded, table = _separate(target), pointers([])

    def reading() -> float:
        begin = time.perf_counter_ns()
        loaded.run(table, 1)
        seconds = max(1, time.perf_counter_ns() - begin) * 1e-9
        return 2.0 * target.lanes(4) * _CHAINS * _ROUNDS / seconds

    return best_of(reading, samples)


@cache
def _separate(target: Target) -> Loaded:
    """Compile chains of multiplications and of additions, as many of each."""
    kind = f"<{target.lanes(4)} x float>"
    factor, small = "splat (float 0x3FEFFFFFE0000000)", "splat (float 0x3E10000000000000)"
    chains = [("fmul", factor), ("fadd", small)] * _CHAINS
    lines = ["define void @peak(ptr %t, i32 %threads) #0 {", "entry:", "  br label %loop", "loop:"]
    lines.append("  %i = phi i64 [ 0, %entry ], [ %next, %loop ]")
    for c in range(len(chains)):
        lines.append(f"  %a{c} = phi {kind} [ splat (float 1.0), %entry ], [ %b{c}, %loop ]")
    for c, (operation, by) in enumerate(chains):
        lines.append(f"  %b{c} = {operation} {kind} %a{c}, {by}")
    lines += ["  %next = add i64 %i, 1", f"  %more = icmp ult i64 %next, {_ROUNDS}"]
    lines += ["  br i1 %more, label %loop, label %done", "done:"]
    for c in range(len(chains)):  # assembly claims to read what each chain ends with
        lines.append(f'  call void asm sideeffect "", "x"({kind} %b{c})')
    lines += ["  ret void", "}", repeat("peak"), "attributes #0 = { nounwind }"]
    text = f'target triple = "{target.triple}"\n' + "\n".join(lines)
    code = object_code(text, target)
    return Loader().load(Artifact(code, "peak", (), (), (), target, text))


if __name__ == "__main__":
    print(facts())
    for name in (name for name in LEVELS if name.startswith("x86-64")):
        try:
            print(f"{name}: {level_peak(Target(name)) / 1e9:.0f} GFLOP/s on 1")
        except TargetError as error:
            print(error)
