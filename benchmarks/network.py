"""ResNet-18 against the installed peers, batch 1, one and two threads, in one run.

python -m benchmarks.network [--trials 2000] [--db network.db] [--model resnet18.onnx]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.machine import facts, pin
from benchmarks.models.resnet18 import build, save
from benchmarks.peers import available
from benchmarks.timing import by_threads, interleave, thread_counts
from tilewright.graph.compile import compile
from tilewright.graph.model import load_onnx
from tilewright.records.store import Records
from tilewright.tuning.tune import tune


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--trials", type=int, default=2000,
        help="in all on one thread, if not on record; a fifth of them more on two",
    )  # fmt: skip
    parser.add_argument("--db", default="network.db")
    parser.add_argument("--model", type=Path, default=Path("resnet18.onnx"))
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.threads:
        pin(args.threads)
        print(json.dumps(_measure(args)))
        return
    if not args.model.exists():
        save(build(), args.model)
    print(f"# {facts()}")
    for threads in thread_counts():
        _tune(args.model, args.db, threads, args.trials // (1 if threads == 1 else 5))
    for threads, measured in by_threads("benchmarks.network"):
        _print(measured, threads)


def _tune(model: Path, db: str, threads: int, trials: int) -> None:
    """Tune with so many trials in all; those on two threads begin with the best on one."""
    network = load_onnx(model)
    with Records(db) as records:
        held = sum(
            len(records.trials(task.key, task.where)) for task in network.tasks(threads=threads)
        )
        if held < trials:
            begin = time.perf_counter()
            tune(network, trials=trials - held, records=records, threads=threads)
            seconds = time.perf_counter() - begin
            print(f"{trials - held} trials on {threads} thread(s) took {seconds:.0f} s")


def _measure(args: argparse.Namespace) -> dict[str, tuple[float, float]]:
    with Records(args.db) as records:
        module = compile(load_onnx(args.model), records, threads=args.threads)
    value = module.inputs[0]
    x = np.random.default_rng(0).standard_normal(value.shape).astype(value.dtype)
    subjects = {"tilewright": lambda: module(x)}
    peers, absent = available()
    for line in absent:
        print(line, file=sys.stderr)
    for peer in peers:
        for subject in peer.network(args.model, args.threads, x):
            subjects[subject.name] = subject
    timings = interleave(subjects, rounds=9, seconds=0.7, warmup=0.5)
    return {name: (t.median, t.minimum) for name, t in timings.items()}


def _print(seconds: dict[str, tuple[float, float]], threads: int) -> None:
    own = seconds["tilewright"][0]
    print(f"\n## ResNet-18, batch 1, {threads} thread(s)\n")
    print("| | median ms | min ms | tilewright is faster by |\n| --- | --- | --- | --- |")
    for name, (median, least) in seconds.items():
        print(f"| {name} | {median * 1e3:.2f} | {least * 1e3:.2f} | {median / own:.2f} x |")


if __name__ == "__main__":
    main()
