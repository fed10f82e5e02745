"""Work that memory limits: softmax, layer norm, GELU and matrix times vector, against the peers.

    python -m benchmarks.rows [--trials 128] [--db rows.db] [--only softmax gelu]

Beside each time stands how fast it moves its data, as a share of what a plain sum over as many
bytes reads on as many threads, measured in the same rounds. Tunes what the database does not hold
yet; each number of threads has a process of its own, since libraries fix theirs for a whole one.
"""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks.peers.rows import WORK, Rows
from benchmarks.side_by_side import (
    check,
    described,
    forget_compiled,
    installed,
    options,
    own,
    run,
    time_all,
    tune_missing,
)  # fmt: skip
from benchmarks.tables import OWN, against, means, table
from benchmarks.timing import thread_counts
from tilewright.ops.reduce import Reduction
from tilewright.records.store import Records
from tilewright.tuning.task import Task

STREAM = "stream"


def main() -> None:
    parser = options(__doc__, trials=128, db="rows.db", work=WORK)
    run("benchmarks.rows", parser, _tune, _measure, _show)


def tasks(work: Rows, threads: int) -> dict[str, Task]:
    """Return the task of a benchmark, and that of a sum over as many bytes as it reads."""
    return {
        OWN: Task(work.operator, threads=threads),
        STREAM: Task(Reduction("sum", work.largest.shape, (0,)), threads=threads),
    }


def _tune(args: argparse.Namespace) -> None:
    with Records(args.db) as records:
        for threads in thread_counts():
            for name in args.only:
                tune_missing(tasks(WORK[name], threads).values(), args.trials, records)


def _measure(args: argparse.Namespace) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    peers = installed()
    with Records(args.db) as records:
        for name in args.only:
            work = WORK[name]
            forget_compiled()
            todo = tasks(work, args.threads)
            ours = own(todo[OWN], work.data, args.threads, records)
            subjects = [ours, *(s for peer in peers for s in peer.rows(work, args.threads))]
            for subject in subjects:
                check(subject, work.answer, name)
            summed = {b.name: work.largest for b in todo[STREAM].expression.inputs}
            stream = own(todo[STREAM], summed, args.threads, records, STREAM)
            rows[name] = {
                "bytes": work.nbytes,
                "read": work.largest.nbytes,
                "seconds": time_all([*subjects, stream], args),
            }
    return {"rows": rows, "peers": described(peers)}


def _show(measured: dict[str, Any], threads: int) -> str:
    parts: list[str] = []
    ratios: list[tuple[float, float]] = []
    for name, row in measured["rows"].items():
        seconds = dict(row["seconds"])
        median, least = seconds.pop(STREAM)
        stream = row["read"] / median
        ratios.append(against(seconds))
        ours = seconds[OWN][0]
        lines = [
            [
                subject, f"{taken * 1e6:.1f}", f"{best * 1e6:.1f}",
                f"{row['bytes'] / taken / 1e9:.1f}", f"{row['bytes'] / taken / stream:.0%}",
                f"{taken / ours:.2f} x",
            ]
            for subject, (taken, best) in seconds.items()
        ]  # fmt: skip
        lines.append(
            ["a sum's reading", f"{median * 1e6:.1f}", f"{least * 1e6:.1f}", f"{stream / 1e9:.1f}"]
        )
        header = [name, "median us", "min us", "GB/s", "of a sum's", "tilewright is faster by"]
        parts.append(table(header, lines))
    title = f"## {threads} thread(s)"
    whom = "against PyTorch's best", "against the best peer"
    said = [f"{mean} {of}" for mean, of in zip(means(ratios), whom, strict=True) if mean != "-"]
    if said:
        parts.append(f"Geometric mean over this work: {', '.join(said)}.")
    return "\n\n".join([title, *parts])


if __name__ == "__main__":
    main()
