"""C6 in 8-bit integers against ONNX Runtime, OpenVINO and LiteRT, with one thread and with two.

    python -m benchmarks.integer [--trials 256] [--db integer.db] [--only C6]

Data are uint8 and weights int8. `rounded` scales the sums by channel and makes uint8 of them again;
`sums` keeps them in int32, which OpenVINO does not offer. All subjects of a row are timed in turn;
`openvino chained` is a part of eight such convolutions, one after the other.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

from benchmarks.peers import integers
from benchmarks.peers.integers import IntegerConvolution
from benchmarks.peers.work import RESNET18, Subject
from benchmarks.side_by_side import options, own, run, time_all, tune_missing
from benchmarks.tables import OWN, table
from tilewright.measure.peak import peak
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.quantized import Requantized
from tilewright.records.store import Records
from tilewright.tuning.task import Task

WORK = {work.name: IntegerConvolution(work) for work in RESNET18}
KINDS = ("rounded", "sums")


def main() -> None:
    parser = options(__doc__, trials=256, db="integer.db", work=WORK, usual=["C6"])
    run("benchmarks.integer", parser, _tune, _measure, _show)


def task_of(work: IntegerConvolution, kind: str) -> Task:
    of = work.of
    conv = Conv2d(
        of.n, of.size, of.size, of.ci, of.co, (of.kernel,) * 2, (of.stride,) * 2,
        (of.padding,) * 4, dtype="uint8",
    )  # fmt: skip
    return Task(Requantized(conv) if kind == "rounded" else conv)


def _tune(args: argparse.Namespace) -> None:
    with Records(args.db) as records:
        tasks = (task_of(WORK[name], kind) for name in args.only for kind in KINDS)
        tune_missing(tasks, args.trials, records)


def _measure(args: argparse.Namespace) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    with Records(args.db) as records:
        for name in args.only:
            work = WORK[name]
            arrays = {"X": work.data, "W": work.weights, "S": work.scale}
            for kind, peers in zip(KINDS, integers.subjects(work, args.threads), strict=True):
                ours = own(task_of(work, kind), arrays, args.threads, records)
                subjects = [ours, *(s for s in peers if s.name != integers.CHAINED)]
                for subject in subjects:
                    _check(subject, work, kind)
                before = peak(threads=args.threads)
                chain = [s for s in peers if s.name == integers.CHAINED]
                seconds = time_all([*subjects, *chain], args)
                for subject in chain:
                    times = seconds[subject.name]
                    seconds[subject.name] = (times[0] / integers.CHAIN, times[1] / integers.CHAIN)
                rows[f"{name} {kind}"] = {
                    "operations": work.of.flops,
                    "peak": max(before, peak(threads=args.threads)),
                    "seconds": seconds,
                }
    found, absent = integers.libraries()
    for line in absent:
        print(line, file=sys.stderr)
    return {"rows": rows, "peers": found}


def _check(subject: Subject, work: IntegerConvolution, kind: str) -> None:
    """Sums are exact; what is rounded may be off by one where it is near a half."""
    subject()
    wanted = work.answer if kind == "rounded" else work.sums
    off = np.abs(subject.result().astype(np.int64) - wanted)
    most, share = int(off.max()), float((off > 0).mean())
    if most > (kind == "rounded") or share > 1e-2:
        raise SystemExit(
            f"{subject.name} computes {work.of.name} wrongly: {share:.2%} are off, by up to {most}"
        )


def _show(measured: dict[str, Any], threads: int) -> str:
    parts = [f"## {threads} thread(s)"]
    for name, row in measured["rows"].items():
        ours = row["seconds"][OWN][0]
        lines = [
            [
                subject, f"{median * 1e3:.4f}", f"{least * 1e3:.4f}",
                f"{row['operations'] / median / 1e9:.0f}",
                f"{row['operations'] / median / row['peak']:.2f} x", f"{median / ours:.2f} x",
            ]
            for subject, (median, least) in row["seconds"].items()
        ]  # fmt: skip
        header = [name, "median ms", "min ms", "GOP/s", "of the FMA peak"]
        parts.append(table([*header, "tilewright is faster by"], lines))
    return "\n\n".join(parts)


if __name__ == "__main__":
    main()
