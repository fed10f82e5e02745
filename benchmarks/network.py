"""ResNet-18 against the installed peers, batch 1, one and two threads, in one run.

python -m benchmarks.network [--trials 2000] [--db network.db] [--model resnet18.onnx]

Trials are in all, on one thread, if not on record; a fifth of them more on two.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.models.resnet18 import build, save
from benchmarks.peers.work import Subject, error
from benchmarks.side_by_side import WRONG, described, installed, options, run, time_all
from benchmarks.tables import OWN, table
from benchmarks.timing import thread_counts
from tilewright.graph.compile import compile
from tilewright.graph.interpret import interpret
from tilewright.graph.model import load_onnx
from tilewright.graph.onnx import load
from tilewright.measure.peak import peak
from tilewright.records.store import Records
from tilewright.tuning.tune import tune


def main() -> None:
    parser = options(__doc__, trials=2000, db="network.db", rounds=9, seconds=0.7)
    parser.add_argument("--model", type=Path, default=Path("resnet18.onnx"))
    run("benchmarks.network", parser, _tune, _measure, _show)


def _tune(args: argparse.Namespace) -> None:
    """Tune with so many trials in all; those on two threads begin with the best on one."""
    if not args.model.exists():
        save(build(), args.model)
    network = load_onnx(args.model)
    with Records(args.db) as records:
        for threads in thread_counts():
            trials = args.trials // (1 if threads == 1 else 5)
            tasks = network.tasks(threads=threads)
            held = sum(len(records.trials(task.key, task.where)) for task in tasks)
            if held < trials:
                begin = time.perf_counter()
                tune(network, trials=trials - held, records=records, threads=threads)
                seconds = time.perf_counter() - begin
                print(f"\n{trials - held} trials on {threads} thread(s) took {seconds:.0f} s.")


def _measure(args: argparse.Namespace) -> dict[str, Any]:
    network = load_onnx(args.model)
    with Records(args.db) as records:
        module = compile(network, records, threads=args.threads)
    value = module.inputs[0]
    x = np.random.default_rng(0).standard_normal(value.shape).astype(value.dtype)
    subjects = [Subject(OWN, lambda: module(x), lambda: np.asarray(module(x)))]
    peers = installed()
    for peer in peers:
        subjects += peer.network(args.model, args.threads, x)
    (answer,) = interpret(load(args.model), [x])
    for subject in subjects:
        off = error(subject, answer)
        if not off < WRONG:
            raise SystemExit(f"{subject.name} computes the network wrongly: off by {off:.2g}")
    before = peak(threads=args.threads)
    seconds = time_all(subjects, args)
    return {
        "peers": described(peers),
        "peak": max(before, peak(threads=args.threads)),
        "flops": sum(task.flops * task.weight for task in network.tasks()),
        "seconds": seconds,
    }


def _show(measured: dict[str, Any], threads: int) -> str:
    seconds = measured["seconds"]
    ours = seconds[OWN][0]
    lines = [
        [
            name, f"{median * 1e3:.2f}", f"{least * 1e3:.2f}",
            f"{measured['flops'] / median / measured['peak']:.0%}", f"{median / ours:.2f} x",
        ]
        for name, (median, least) in seconds.items()
    ]  # fmt: skip
    header = ["", "median ms", "min ms", "of the FMA peak", "tilewright is faster by"]
    return f"## ResNet-18, batch 1, {threads} thread(s)\n\n{table(header, lines)}"


if __name__ == "__main__":
    main()
