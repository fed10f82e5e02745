"""A network's latency alone, and beside a process that is always busy on one of the cores.

python -m benchmarks.beside [--networks dqn mobilenet_v1 ...] [--db networks.db] [--seconds 2]

Threads that wait for each other are slow where one of them loses its core: this says by how much.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.models.net import save
from benchmarks.networks import NETWORKS
from benchmarks.timing import busy
from tilewright.graph.compile import compile
from tilewright.graph.model import load_onnx
from tilewright.graph.module import Module
from tilewright.graph.random import random_inputs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=["dqn", "mobilenet_v1"])
    parser.add_argument("--db", help="records to compile from; without them networks are untuned")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each reading")
    args = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))[:2]
    print("| network | threads | beside | runs | min us | median us | mean us | 99 % us |")
    print("| --- |" + " --- |" * 7)
    for name in args.networks:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "net.onnx"
            save(NETWORKS[name].build(), path)
            module = compile(load_onnx(path), args.db, threads=len(cores))
        for threads in 1, len(cores):
            print(f"| {name} | {threads} | nothing | {reading(module, threads, args.seconds)}")
        with busy(cores[-1]):
            for threads in 1, len(cores):
                said = reading(module, threads, args.seconds)
                print(f"| {name} | {threads} | a busy process | {said}")


def reading(module: Module, threads: int, seconds: float) -> str:
    """Return the latencies of runs, one after another for so many seconds, as cells of a table."""
    given = list(random_inputs(module.inputs).values())
    context, times = module.context(), list[float]()
    for _ in range(20):
        context(*given, threads=threads)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        context(*given, threads=threads)
        times.append(time.perf_counter() - begin)
    us = np.array(times) * 1e6
    told = us.min(), np.median(us), us.mean(), np.percentile(us, 99)
    return " | ".join([str(len(us)), *(f"{each:.1f}" for each in told), ""]).rstrip()


if __name__ == "__main__":
    main()
