"""The machine's limit: fused multiply-adds on registers alone, timed here and now."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import cache

from tilewright.codegen.llvm.compile import object_code
from tilewright.codegen.llvm.module import repeat
from tilewright.runtime.artifact import Artifact, check_runs_here
from tilewright.runtime.load import Loaded, Loader, pointers
from tilewright.target import Target, host

_ROUNDS = 128_000  # about half a millisecond in one parallel region: a busy machine costs little
PATIENCE = 8  # times as many readings as asked for, at most
NEAR = 0.9  # of the cores times one thread's reading: then every thread had a core
_PAUSE = 2e-3  # seconds before a reading, at first
_CHAINS = 12  # independent accumulators: more than latency times issue width (4 x 2) needs


def peak(target: Target | None = None, threads: int = 1, samples: int = 20) -> float:
    """Return the best float32 operations a second of short readings, `samples` or more.

    Where others keep a core busy, several threads may read what one thread does. So as long as the
    best reading is not near that times the cores they can have, more are taken, up to `PATIENCE`
    times as many. Never less than one thread's, and threads beyond the cores add nothing.
    """
    target = target or host()
    check_runs_here(target)
    loaded = _loop(target)
    table = pointers([])

    def reading(threads: int) -> float:
        begin = time.perf_counter_ns()
        loaded.run(table, threads)
        seconds = max(1, time.perf_counter_ns() - begin) * 1e-9
        return 2.0 * target.lanes(4) * _CHAINS * _ROUNDS * threads / seconds

    alone = best_of(lambda: reading(1), samples)
    cores = min(threads, len(os.sched_getaffinity(0)))
    if cores <= 1:
        return alone
    return max(alone, best_of(lambda: reading(cores), samples, NEAR * cores * alone))


def best_of(
    reading: Callable[[], float],
    samples: int,
    enough: float = 0.0,
    pause: Callable[[float], None] = time.sleep,
) -> float:
    """Return the greatest of `samples` readings, or of more until one is `enough`.

    There is a pause before each, in which other processes use up their turns; they grow as long as
    nothing comes of it.
    """
    best = 0.0
    for taken in range(samples * PATIENCE):
        if taken >= samples and best >= enough:
            break
        pause(_PAUSE * (1 + taken // samples))
        best = max(best, reading())
    return best


@cache
def _loop(target: Target) -> Loaded:
    kind = f"<{target.lanes(4)} x float>"
    lines = ["define void @chains() #0 {", "entry:", "  br label %loop", "loop:"]
    lines.append("  %i = phi i64 [ 0, %entry ], [ %next, %loop ]")
    for c in range(_CHAINS):
        lines.append(f"  %a{c} = phi {kind} [ zeroinitializer, %entry ], [ %b{c}, %loop ]")
    one, small = "splat (float 1.0)", "splat (float 0x3E10000000000000)"
    for c in range(_CHAINS):
        lines.append(
            f"  %b{c} = call {kind} @llvm.fma.v{target.lanes(4)}f32("
            f"{kind} {one}, {kind} {small}, {kind} %a{c})"
        )
    lines += ["  %next = add i64 %i, 1", f"  %more = icmp ult i64 %next, {_ROUNDS}"]
    lines.append("  br i1 %more, label %loop, label %done")
    lines.append("done:")
    register = "v" if target.vector_bytes == 64 else "x"  # v: any of 32 registers, AVX-512 only
    for c in range(_CHAINS):  # each chain ends in a register that assembly claims to read
        lines.append(f'  call void asm sideeffect "", "{register}"({kind} %b{c})')
    lines += ["  ret void", "}"]
    lines += [
        "define internal void @share(ptr %t) #0 {", "  call void @chains()", "  ret void", "}",
        "define void @peak(ptr %t, i32 %threads) #0 {",
        "  %alone = icmp sle i32 %threads, 1",
        "  br i1 %alone, label %one, label %many",
        "one:", "  call void @chains()", "  ret void",
        "many:", "  call void @GOMP_parallel(ptr @share, ptr %t, i32 %threads, i32 0)",
        "  ret void", "}", repeat("peak"),
        f"declare {kind} @llvm.fma.v{target.lanes(4)}f32({kind}, {kind}, {kind})",
        "declare void @GOMP_parallel(ptr, ptr, i32, i32)",
        f'attributes #0 = {{ nounwind "prefer-vector-width"="{target.vector_bytes * 8}" }}',
    ]  # fmt: skip
    text = f'target triple = "{target.triple}"\n' + "\n".join(lines)
    code = object_code(text, target)
    return Loader().load(Artifact(code, "peak", (), (), ("GOMP_parallel",), target, text))
