"""How fast the search is: candidates scored a second, candidates measured a second, compile time.

python -m benchmarks.search_rate [--only C6]
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from benchmarks.side_by_side import heading
from benchmarks.workloads import WORK, task_of
from tilewright.features import FEATURES
from tilewright.measure.build import build
from tilewright.measure.local import Local
from tilewright.models import Boosted, Training


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=["C6", "C9", "matmul1024"], choices=WORK)
    args = parser.parse_args()
    print(heading("benchmarks.search_rate", args) + "\n", flush=True)
    for name in args.only:
        task = task_of(WORK[name])
        space, rng = task.space, np.random.default_rng(0)
        train = FEATURES.extract(space, space.sample(rng, 256))
        model = Boosted().fit(Training.of(train, rng.standard_normal(len(train))))
        rates: list[float] = []
        for _ in range(5):
            rows = space.sample(rng, 4096)
            begin = time.perf_counter()
            model.predict(FEATURES.extract(space, rows))
            rates.append(len(rows) / (time.perf_counter() - begin))
        rows = space.sample(rng, 128)
        compiled: list[float] = []
        for row in rows[:48]:
            request = task.request(task.schedule(space.config(row)))
            begin = time.perf_counter()
            build(request)
            compiled.append(time.perf_counter() - begin)
        with Local() as local:
            list(local.measure(task.request(task.fallback()) for _ in "."))
            begin = time.perf_counter()
            requests = (task.request(task.schedule(space.config(row))) for row in rows)
            count = len(list(local.measure(requests)))
            measured = count / (time.perf_counter() - begin)
        print(
            f"- {name}: {statistics.median(rates):.0f} scored a second (median of 5 x "
            f"{len(rows)}+ rows, one core); {measured:.1f} built, verified and timed a second "
            f"({count} random candidates); compile ms median "
            f"{statistics.median(compiled) * 1e3:.1f}, max {max(compiled) * 1e3:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
