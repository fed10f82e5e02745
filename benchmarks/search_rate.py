"""How fast the search is: candidates scored a second, candidates measured a second, compile time.

python -m benchmarks.search_rate [--only C6] [--scoring]

Scoring is making the features of candidates and predicting from them, by boosted trees and, where
PyTorch is installed, by TreeGRU, each with the features that it learns from; `--scoring` ends with
that.
"""

from __future__ import annotations

import argparse
import statistics
import time
from importlib.util import find_spec

import numpy as np

from benchmarks.side_by_side import heading
from benchmarks.workloads import WORK, task_of
from tilewright.features import FEATURES
from tilewright.measure.build import build
from tilewright.measure.local import Local
from tilewright.models import Boosted, CostModel, Training, TreeGRU
from tilewright.schedule.schedule import Schedule
from tilewright.space.space import Space
from tilewright.tuning.task import Task

SCORED, ROUNDS = 4096, 5
MODELS: dict[str, CostModel] = {"boosted trees": Boosted()}
if find_spec("torch"):
    MODELS["TreeGRU"] = TreeGRU()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=["C6", "C9", "matmul1024"], choices=WORK)
    parser.add_argument("--scoring", action="store_true", help="measure no candidates")
    args = parser.parse_args()
    print(heading("benchmarks.search_rate", args) + "\n", flush=True)
    for name in args.only:
        task = task_of(WORK[name])
        rates = (f"{scoring(task.space, model):.0f} by {kind}" for kind, model in MODELS.items())
        how = f"median of {ROUNDS} x {SCORED} rows, one core"
        said = f"- {name}: scored a second: {', '.join(rates)} ({how})"
        print(said if args.scoring else f"{said}; {measuring(task)}", flush=True)


def scoring(space: Space[Schedule], model: CostModel, rows: int = SCORED) -> float:
    """Return how many candidates a second a model scores, their features included."""
    rng, features = np.random.default_rng(0), getattr(model, "features", None) or FEATURES
    train = features.extract(space, space.sample(rng, 256))
    fitted = model.fit(Training.of(train, rng.standard_normal(len(train))))
    rates: list[float] = []
    for _ in range(ROUNDS):
        candidates = space.sample(rng, rows)
        begin = time.perf_counter()
        fitted.predict(features.extract(space, candidates))
        rates.append(len(candidates) / (time.perf_counter() - begin))
    return statistics.median(rates)


def measuring(task: Task) -> str:
    """Say how many random candidates are measured a second, and how long they compile."""
    rows = task.space.sample(np.random.default_rng(0), 128)
    compiled: list[float] = []
    for row in rows[:48]:
        request = task.request(task.schedule(task.space.config(row)))
        begin = time.perf_counter()
        build(request)
        compiled.append(time.perf_counter() - begin)
    with Local() as local:
        list(local.measure(task.request(task.fallback()) for _ in "."))
        begin = time.perf_counter()
        requests = (task.request(task.schedule(task.space.config(row))) for row in rows)
        count = len(list(local.measure(requests)))
        rate = count / (time.perf_counter() - begin)
    return (
        f"{rate:.1f} built, verified and timed a second ({count} random candidates); compile ms "
        f"median {statistics.median(compiled) * 1e3:.1f}, max {max(compiled) * 1e3:.1f}"
    )


if __name__ == "__main__":
    main()
