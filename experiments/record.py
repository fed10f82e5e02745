"""Record measured programs of the paper's layers, for models to learn from and searches to replay.

    python -m experiments.record --db experiments.db [--part source] [--part held-out] [--part avx2]

`source` are 3,400 trials each of C1 to C6, `held-out` 900 each of C7 to C12 and matmul-1024, `avx2`
400 each of C1 to C6 and C9 for x86-64-v3. Two thirds are random candidates, so that bad ones are
known as well, and a third those that a guided search then asks for. One thread. What is on record
already is not measured again.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

from benchmarks.workloads import WORK, task_of

from tilewright.records.store import Records
from tilewright.search import Guided, RandomSearch
from tilewright.target import Target
from tilewright.tuning.tune import tune


class Part(NamedTuple):
    work: tuple[str, ...]
    trials: int
    target: str = ""


PARTS = {
    "source": Part(("C1", "C2", "C3", "C4", "C5", "C6"), 3400),
    "held-out": Part(("C7", "C8", "C9", "C10", "C11", "C12", "matmul1024"), 900),
    "avx2": Part(("C1", "C2", "C3", "C4", "C5", "C6", "C9"), 400, "x86-64-v3"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--db", default="experiments.db")
    parser.add_argument("--part", action="append", choices=PARTS, help="all if none is named")
    args = parser.parse_args()
    with Records(args.db) as records:
        for name in args.part or PARTS:
            record(PARTS[name], records)


def record(part: Part, records: Records) -> None:
    target = Target(part.target) if part.target else None
    for name in part.work:
        task = task_of(WORK[name], target=target)
        for search, until in ((RandomSearch(), 2 * part.trials // 3), (Guided(), part.trials)):
            held = len(records.trials(task.key, task.where))
            if held < until:
                tune(task, trials=until - held, records=records, search=search, batch=64)
        best = records.best(task.key, task.where)
        print(f"{name} {task.where}: {best.seconds if best else None} s", flush=True)


if __name__ == "__main__":
    main()
