"""Record measured programs, for models to learn from and searches to replay.

    python -m experiments.record --db experiments.db [--part corpus] [--part source] ...

`corpus` are 64 trials each of 285 pieces of work drawn at random (experiments/corpus.py), and
`elsewhere` of 160 others, which are meant for another machine; `source`
are 3,400 trials each of C1 to C6, `held-out` 600 each of C7 to C12 and matmul-1024, `avx2` 400 each
of C1 to C6 and C9 for x86-64-v3, all on one thread. Two thirds are random candidates, so that bad
ones are known as well, and a third those that a guided search then asks for. What is on record
already is not measured again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from benchmarks.workloads import WORK, task_of

from experiments.command import options
from experiments.corpus import corpus, elsewhere
from tilewright.measure.local import Local
from tilewright.records.store import Records
from tilewright.search import RandomSearch
from tilewright.target import Target
from tilewright.tuning.task import Task
from tilewright.tuning.tune import DEFAULT, tune


class Part(NamedTuple):
    tasks: Callable[[], list[Task]]
    trials: int


def _layers(names: str, target: Target | None = None) -> Callable[[], list[Task]]:
    return lambda: [task_of(WORK[name], target=target) for name in names.split()]


PARTS = {
    "corpus": Part(corpus, 64),
    "elsewhere": Part(elsewhere, 64),
    "source": Part(_layers("C1 C2 C3 C4 C5 C6"), 3400),
    "held-out": Part(_layers("C7 C8 C9 C10 C11 C12 matmul1024"), 600),
    "avx2": Part(_layers("C1 C2 C3 C4 C5 C6 C9", Target("x86-64-v3")), 400),
}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--db", default="experiments.db")
    parser.add_argument("--part", action="append", choices=PARTS, help="all if none is named")
    args = parser.parse_args()
    with Records(args.db) as records, Local() as local:
        for name in args.part or PARTS:
            record(PARTS[name], records, local)


def record(part: Part, records: Records, local: Local) -> None:
    for task in part.tasks():
        for search, until in ((RandomSearch(), 2 * part.trials // 3), (DEFAULT, part.trials)):
            held = len(records.trials(task.key, task.where))
            if held < until:
                tune(
                    task, trials=until - held, records=records, search=search, batch=64,
                    measure=local,
                )  # fmt: skip
        best = records.best(task.key, task.where)
        print(f"{task.name} {task.where}: {best.seconds if best else None} s", flush=True)


if __name__ == "__main__":
    main()
