"""C1 to C12 of the paper's Table 1 and matmul-1024, against the installed peers, in one run.

    python -m benchmarks.operators [--trials 256] [--db operators.db] [--only C6 C9]

Tunes what the database does not hold yet, then times every subject in turn: in one process for
each number of threads, for the libraries fix theirs for a whole process.
"""

from __future__ import annotations

import argparse
import json
import sys
from math import prod
from typing import Any

import numpy as np

from benchmarks.machine import facts, pin
from benchmarks.peers import available
from benchmarks.peers.work import Convolution, Matmul, Subject, error
from benchmarks.timing import by_threads, interleave
from benchmarks.workloads import WORK, task_of
from tilewright.measure.peak import peak
from tilewright.records.store import Records
from tilewright.runtime.build import build
from tilewright.tuning.tune import tune


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=256, help="a workload, if not on record")
    parser.add_argument("--db", default="operators.db")
    parser.add_argument("--only", nargs="*", default=list(WORK))
    parser.add_argument("--seconds", type=float, default=0.3, help="a subject and round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.threads:
        pin(args.threads)
        print(json.dumps(_measure(args)))
        return
    print(f"# {facts()}")
    _tune(args)
    for threads, measured in by_threads("benchmarks.operators"):
        _print(measured, threads)


def _tune(args: argparse.Namespace) -> None:
    with Records(args.db) as records:
        for name in args.only:
            task = task_of(WORK[name])
            held = len(records.trials(task.key, task.where))
            if held < args.trials:
                tune(task, trials=args.trials - held, records=records)
            best = records.best(task.key, task.where)
            print(
                f"tuned {name}: {best.seconds * 1e3:.4f} ms" if best else f"{name}: none",
                flush=True,
            )


def own(work: Convolution | Matmul, threads: int, records: Records) -> Subject:
    """Return tilewright's subject: the best schedule on record, bound to its arrays."""
    task = task_of(work)
    kernel = build(task.best(records), threads=threads)
    data: list[np.ndarray[Any, Any]] = (
        [work.a, work.b] if isinstance(work, Matmul) else [work.data, work.weights]
    )
    call = kernel.bind(*data)
    return Subject("tilewright", call, call, holds=call)


def _measure(args: argparse.Namespace) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    peers, absent = available()
    for line in absent:
        print(line, file=sys.stderr)
    with Records(args.db) as records:
        for name in args.only:
            work = WORK[name]
            _forget_compiled()
            subjects = [own(work, args.threads, records)]
            for peer in peers:
                make = peer.matmul if isinstance(work, Matmul) else peer.convolution
                subjects += make(work, args.threads)
            for subject in subjects:
                _check(subject, work)
            limit = peak(threads=args.threads)
            timings = interleave(
                {s.name: s for s in subjects}, rounds=args.rounds, seconds=args.seconds
            )
            rows[name] = {
                "flops": work.flops,
                "peak": max(limit, peak(threads=args.threads)),
                "seconds": {n: (t.median, t.minimum) for n, t in timings.items()},
            }
    return {"rows": rows, "versions": [peer.versions() for peer in peers]}


def _forget_compiled() -> None:
    """Let torch.compile start afresh: it gives up on a function after eight shapes."""
    if "torch" in sys.modules:
        import torch

        torch.compiler.reset()


def _check(subject: Subject, work: Convolution | Matmul) -> None:
    off = error(subject, work.answer)
    if not off < 1e-4:
        raise SystemExit(f"{subject.name} computes {work.name} wrongly: off by {off:.2g}")


def _print(measured: dict[str, Any], threads: int) -> None:
    rows = measured["rows"]
    names = list(dict.fromkeys(n for row in rows.values() for n in row["seconds"]))
    print(
        f"\n## {threads} thread(s): median GFLOP/s (best), share of peak; {measured['versions']}\n"
    )
    print(f"| work | {' | '.join(names)} | against torch | against best |")
    print("| --- |" + " --- |" * (len(names) + 2))
    versus: dict[str, list[float]] = {"torch": [], "best": []}
    for name, row in rows.items():
        cells: list[str] = []
        for subject in names:
            if subject not in row["seconds"]:
                cells.append("-")
                continue
            median, least = row["seconds"][subject]
            speed = row["flops"] / median
            best = row["flops"] / least / 1e9
            cells.append(f"{speed / 1e9:.0f} ({best:.0f}) {speed / row['peak']:.0%}")
        ours = row["seconds"]["tilewright"][0]
        others = {n: s[0] for n, s in row["seconds"].items() if n != "tilewright"}
        torch = [s for n, s in others.items() if "torch" in n.lower()]
        ratios = [
            min(group) / ours if group else float("nan") for group in (torch, others.values())
        ]
        for key, ratio in zip(versus, ratios, strict=True):
            versus[key].append(ratio)
        print(f"| {name} | {' | '.join(cells)} | {ratios[0]:.2f} x | {ratios[1]:.2f} x |")
    means = [prod(r) ** (1 / len(r)) for r in versus.values()]
    print(f"| geometric mean |{' |' * len(names)} {means[0]:.2f} x | {means[1]:.2f} x |")


if __name__ == "__main__":
    main()
