"""Work that memory limits: softmax, layer norm, GELU and matrix times vector, against the peers.

    python -m benchmarks.rows [--trials 128] [--db rows.db] [--only softmax gelu]

Beside each time stands how fast it moves its data, as a share of what a plain sum over as many
bytes reads on as many threads, measured in the same rounds. Tunes what the database does not hold
yet; each number of threads has a process of its own, since libraries fix theirs for a whole one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from math import prod
from typing import Any

from benchmarks.machine import facts, pin
from benchmarks.peers import rows as peers
from benchmarks.peers.rows import WORK, Rows
from benchmarks.peers.work import Subject, error
from benchmarks.timing import by_threads, interleave, thread_counts
from tilewright.ops.reduce import Reduction
from tilewright.records.store import Records
from tilewright.runtime.build import build
from tilewright.tuning.task import Task
from tilewright.tuning.tune import tune

STREAM = "stream"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=128, help="a workload, if not on record")
    parser.add_argument("--db", default="rows.db")
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
    for threads in thread_counts():
        _tune(args, threads)
    for threads, measured in by_threads("benchmarks.rows"):
        _print(measured, threads)


def tasks(work: Rows, threads: int) -> dict[str, Task]:
    """Return the task of a benchmark, and that of a sum over as many bytes as it reads."""
    return {
        work.name: Task(work.operator, threads=threads),
        STREAM: Task(Reduction("sum", work.largest.shape, (0,)), threads=threads),
    }


def _tune(args: argparse.Namespace, threads: int) -> None:
    with Records(args.db) as records:
        for name in args.only:
            for task in tasks(WORK[name], threads).values():
                held = len(records.trials(task.key, task.where))
                if held < args.trials:
                    tune(task, trials=args.trials - held, records=records)
                best = records.best(task.key, task.where)
                said = f"{best.seconds * 1e6:.1f} us" if best and best.seconds else "none"
                print(f"tuned {task.name} on {threads}: {said}", flush=True)


def own(work: Rows, threads: int, records: Records) -> list[Subject]:
    """Return tilewright's subject and the stream, by the best schedules on record."""
    found: list[Subject] = []
    for name, task in tasks(work, threads).items():
        kernel = build(task.best(records), threads=threads)
        arrays = [work.largest] if name == STREAM else [work.data[b.name] for b in kernel.inputs]
        call = kernel.bind(*arrays)
        found.append(Subject(STREAM if name == STREAM else "tilewright", call, call, holds=call))
    return found


def _measure(args: argparse.Namespace) -> dict[str, Any]:
    measured: dict[str, Any] = {}
    versions: list[str] = []
    with Records(args.db) as records:
        for name in args.only:
            work = WORK[name]
            subjects = own(work, args.threads, records)
            libraries, versions, absent = peers.subjects(work, args.threads)
            for line in absent:
                print(line, file=sys.stderr)
            for subject in (subjects[0], *libraries):
                off = error(subject, work.answer)
                if not off < 1e-4:
                    raise SystemExit(f"{subject.name} computes {name} wrongly: off by {off:.2g}")
            timings = interleave(
                {s.name: s for s in (*subjects, *libraries)},
                rounds=args.rounds,
                seconds=args.seconds,
            )
            measured[name] = {n: (t.median, t.minimum) for n, t in timings.items()}
    return {"rows": measured, "versions": versions}


def _print(measured: dict[str, Any], threads: int) -> None:
    rows: Mapping[str, dict[str, tuple[float, float]]] = measured["rows"]
    names = list(dict.fromkeys(n for row in rows.values() for n in row))
    print(f"\n## {threads} thread(s): median us (best), GB/s moved; {measured['versions']}\n")
    print(f"| work | {' | '.join(names)} | of the stream | against torch | against best |")
    print("| --- |" + " --- |" * (len(names) + 3))
    ratios: dict[str, list[float]] = {"torch": [], "best": []}
    for name, row in rows.items():
        work = WORK[name]
        cells: list[str] = []
        for subject in names:
            if subject not in row:
                cells.append("-")
                continue
            median, least = row[subject]
            moved = work.largest.nbytes if subject == STREAM else work.nbytes
            cells.append(f"{median * 1e6:.1f} ({least * 1e6:.1f}) {moved / median / 1e9:.1f}")
        ours = row["tilewright"][0]
        share = (work.nbytes / ours) / (work.largest.nbytes / row[STREAM][0])
        others = {n: t[0] for n, t in row.items() if n not in ("tilewright", STREAM)}
        torch = [seconds for n, seconds in others.items() if "torch" in n]
        groups = {"torch": torch, "best": [*others.values()]}
        for key, group in groups.items():
            ratios[key].append(min(group) / ours if group else float("nan"))
        said = " | ".join(f"{ratios[key][-1]:.2f} x" for key in groups)
        print(f"| {name} | {' | '.join(cells)} | {share:.0%} | {said} |")
    means = " | ".join(f"{prod(r) ** (1 / len(r)):.2f} x" for r in ratios.values() if r)
    print(f"| geometric mean |{' |' * (len(names) + 1)} {means} |")


if __name__ == "__main__":
    main()
