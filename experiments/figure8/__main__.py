"""Figure 8: transfer, from the records of C1 to C6 to work that is not among them.

python -m experiments.figure8 [--on C7 C8 C9 matmul1024 avx2:C6 pool:C6] [--seeds 5] [--trials 200]

What is recorded of the very task (same work, same target) is kept from the model that helps with
it; for `avx2:C6` the records of C6 as AVX-512 code are not, as they are what it is to learn from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from experiments.command import markdown
from experiments.compare import Runs, Subject, compare, trials_until
from experiments.workloads import AVX512, Workload, recorded, task_named, trials_to
from tilewright.features import FEATURES
from tilewright.models import Boosted, CostModel, Predictor, Transfer, TreeGRU
from tilewright.search import Guided, Search
from tilewright.search.problem import Problem, Searcher
from tilewright.tuning.learn import learn

SOURCE = ("C1", "C2", "C3", "C4", "C5", "C6")
MOST = 1000  # trials of each task to learn from
SCRATCH, TRANSFER = "scratch", "transfer"


@dataclass(frozen=True)
class Scratch:
    """A guided search without what is known before: neither a guess nor the pre-trained model."""

    search: Guided

    @property
    def features(self) -> Any:
        return self.search.features

    def start(self, problem: Problem, rng: np.random.Generator) -> Searcher:
        return self.search.start(replace(problem, prior=None), rng)


@dataclass(frozen=True)
class Taught(Subject):
    """A guided search whose model begins from what other tasks' records teach it."""

    search: Guided
    most: int = MOST

    def takes(self, workload: Workload) -> bool:
        return workload.task is not None

    def on(self, workload: Workload) -> Search:
        local = self.search.model
        source = taught(local, others(workload), self.most)
        return replace(self.search, model=Transfer(local, source))


def others(workload: Workload) -> tuple[str, ...]:
    """Return what a model that helps with a workload may learn from."""
    here = workload.task
    tasks = {name: task_named(name, AVX512) for name in SOURCE}
    return tuple(
        name
        for name, task in tasks.items()
        if here is None or (task.key, task.where) != (here.key, here.where)
    )


@cache
def taught(model: CostModel, names: tuple[str, ...], most: int) -> Predictor:
    """Return a model of the recorded trials of some layers."""
    tasks = [task_named(name, AVX512) for name in names]
    features = getattr(model, "features", None) or FEATURES
    return model.fit(learn(recorded(), tasks, features, most=most))


def gained(runs: Runs) -> str:
    """Return, as Markdown, the trials until transfer is where scratch ends (median over seeds)."""
    rows: list[list[str]] = []
    for workload, found in runs.items():
        for name, curves in found.items():
            kind, _, how = name.partition(", ")
            scratch = found.get(f"{kind}, {SCRATCH}")
            if how != TRANSFER or scratch is None:
                continue
            trials = len(scratch[0].best)
            goal = float(np.median([curve.best[-1] for curve in scratch]))
            needed = float(np.median([trials_to(curve, 1.0, goal) for curve in curves]))
            ratio = f"{needed / trials:.3f}" if needed <= trials else "more than 1"
            reached = trials_until(curves, goal), ratio, trials_until(scratch, goal)
            rows.append([workload, kind, str(trials), *reached])
    header = ("workload", "model", "trials of scratch", "transfer is there after", "ratio",
              "scratch itself")  # fmt: skip
    return markdown(header, rows)


SUBJECTS: dict[str, Subject] = {}
for kind, search in {"trees": Guided(Boosted()), "TreeGRU": Guided(TreeGRU())}.items():
    SUBJECTS[f"{kind}, {SCRATCH}"] = Subject(Scratch(search))
    SUBJECTS[f"{kind}, {TRANSFER}"] = Taught(search)

if __name__ == "__main__":
    work = ("C7", "C8", "C9", "matmul1024", "avx2:C6")
    folder = Path(__file__).parent
    compare(__doc__ or "", folder, SUBJECTS, on=work, trials=200, seeds=5, tables=[gained])
