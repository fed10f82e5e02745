"""C6 in 8-bit integers against ONNX Runtime and OpenVINO, with one thread and with two.

    python -m benchmarks.integer [--trials 256] [--db integer.db] [--only C6]

Data are uint8 and weights int8. `rounded` scales the sums by channel and makes uint8 of them again;
`sums` keeps them in int32, which OpenVINO does not offer. All subjects of a row are timed in turn;
`openvino chained` is a part of eight such convolutions, one after the other.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from benchmarks.machine import facts, pin
from benchmarks.peers import integers
from benchmarks.peers.integers import IntegerConvolution
from benchmarks.peers.work import RESNET18, Subject
from benchmarks.timing import by_threads, interleave
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.quantized import Requantized
from tilewright.records.store import Records
from tilewright.runtime.build import build
from tilewright.tuning.task import Task
from tilewright.tuning.tune import tune

WORK = {work.name: IntegerConvolution(work) for work in RESNET18}
KINDS = ("rounded", "sums")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=256, help="a row, if not on record")
    parser.add_argument("--db", default="integer.db")
    parser.add_argument("--only", nargs="*", default=["C6"])
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
    for threads, measured in by_threads("benchmarks.integer"):
        _print(measured, threads)


def task_of(work: IntegerConvolution, kind: str) -> Task:
    of = work.of
    conv = Conv2d(
        of.n, of.size, of.size, of.ci, of.co, (of.kernel,) * 2, (of.stride,) * 2,
        (of.padding,) * 4, dtype="uint8",
    )  # fmt: skip
    return Task(Requantized(conv) if kind == "rounded" else conv)


def _tune(args: argparse.Namespace) -> None:
    with Records(args.db) as records:
        for name in args.only:
            for kind in KINDS:
                task = task_of(WORK[name], kind)
                held = len(records.trials(task.key, task.where))
                if held < args.trials:
                    tune(task, trials=args.trials - held, records=records)


def own(work: IntegerConvolution, kind: str, threads: int, records: Records) -> Subject:
    """Return tilewright's subject: the best schedule on record, bound to its arrays."""
    kernel = build(task_of(work, kind).best(records), threads=threads)
    arrays = {"X": work.data, "W": work.weights, "S": work.scale}
    call = kernel.bind(**{b.name: arrays[b.name] for b in kernel.inputs})
    return Subject("tilewright", call, call, holds=call)


def _measure(args: argparse.Namespace) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    with Records(args.db) as records:
        for name in args.only:
            work = WORK[name]
            rounded, sums = integers.onnxruntime(work, args.threads)
            rounded += integers.openvino(work, args.threads)
            for kind, peers in zip(KINDS, (rounded, sums), strict=True):
                subjects = [own(work, kind, args.threads, records), *peers]
                for subject in subjects:
                    _check(subject, work, kind)
                calls = {s.name: s for s in subjects}
                chain = integers.openvino_chain(work, args.threads) if kind == "rounded" else None
                if chain:
                    calls[chain.name] = chain
                timings = interleave(calls, rounds=args.rounds, seconds=args.seconds)
                seconds = {n: (t.median, t.minimum) for n, t in timings.items()}
                if chain:
                    times = seconds[chain.name]
                    seconds[chain.name] = tuple(each / integers.CHAIN for each in times)
                rows[f"{name} {kind}"] = {"operations": work.of.flops, "seconds": seconds}
    return rows


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


def _print(rows: dict[str, Any], threads: int) -> None:
    print(
        f"\n## {threads} thread(s): median ms (best), GOP/s, and how many times ours takes that\n"
    )
    for name, row in rows.items():
        ours = row["seconds"]["tilewright"][0]
        print(f"| {name} | ms | GOP/s | against ours |\n| --- | --- | --- | --- |")
        for subject, (median, least) in row["seconds"].items():
            speed = row["operations"] / median / 1e9
            print(
                f"| {subject} | {median * 1e3:.4f} ({least * 1e3:.4f}) | {speed:.0f} "
                f"| {median / ours:.2f} x |"
            )
        print()


if __name__ == "__main__":
    main()
