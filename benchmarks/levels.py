"""How much of its own peak the code for an x86 level reaches: AVX2, SSE2; one thread.

    python -m benchmarks.levels [--trials 64] [--db levels.db] [--only C6] [--target x86-64-v3]

Direct code (tolerance 0) of C2, C6, C9 and matmul-1024, tuned for each level on this machine; the
peak is that of the level's vectors, fused multiply-adds where it has them (see `benchmarks.peak`).
"""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks.machine import pin
from benchmarks.peak import level_peak
from benchmarks.side_by_side import check, heading, options, own, time_all, tune_missing
from benchmarks.tables import OWN, speed, table
from benchmarks.workloads import WORK, operands, task_of
from tilewright.records.store import Records
from tilewright.runtime.artifact import check_runs_here
from tilewright.target import Target, host

LEVEL_NAMES = ("x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64")
USUAL_WORK = ("C2", "C6", "C9", "matmul1024")
USUAL = ("x86-64-v4", "x86-64-v3", "x86-64")


def main() -> None:
    parser = options(__doc__, trials=64, db="levels.db", work=WORK, usual=USUAL_WORK)
    usual = [n for n in USUAL if Target(n).vector_bytes <= host().vector_bytes]
    parser.add_argument("--target", nargs="*", default=usual, choices=LEVEL_NAMES, dest="targets")
    args = parser.parse_args()
    print(heading("benchmarks.levels", args), flush=True)
    targets = [Target(name) for name in args.targets]
    for target in targets:
        check_runs_here(target)
    with Records(args.db) as records:
        for target in targets:
            tasks = (task_of(WORK[name], tolerance=0, target=target) for name in args.only)
            tune_missing(tasks, args.trials, records)
        pin(1)
        measured = {target.name: _measure(target, args, records) for target in targets}
    print("\n" + _show(measured), flush=True)


def _measure(target: Target, args: argparse.Namespace, records: Records) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for name in args.only:
        work = WORK[name]
        task = task_of(work, tolerance=0, target=target)
        subject = own(task, operands(work), 1, records)
        check(subject, work.answer, f"{name} for {target.name}")
        before = level_peak(target)
        median, least = time_all([subject], args)[OWN]
        limit = max(before, level_peak(target))
        rows[name] = {"flops": work.flops, "peak": limit, "seconds": (median, least)}
    return rows


def _show(measured: dict[str, dict[str, Any]]) -> str:
    lines: list[list[str]] = []
    for level, rows in measured.items():
        limit = max(row["peak"] for row in rows.values())
        target = Target(level)
        means = "FMA" if target.has("fma") else "multiply and add"
        cells = [speed(row["flops"], *row["seconds"], row["peak"]) for row in rows.values()]
        bits = f"{target.vector_bytes * 8} bits, {means}"
        lines.append([level, bits, f"{limit / 1e9:.0f}", *cells])
    names = list(next(iter(measured.values()), {}))
    title = "## 1 thread, direct code: median GFLOP/s (best), share of the level's own peak"
    return f"{title}\n\n{table(['level', 'vectors', 'peak GFLOP/s', *names], lines)}"


if __name__ == "__main__":
    main()
