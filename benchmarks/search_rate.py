"""How fast the search is: candidates scored a second, candidates measured a second, compile time.

python -m benchmarks.search_rate
"""

from __future__ import annotations

import statistics
import time

import numpy as np

from benchmarks.machine import facts
from benchmarks.workloads import WORK, task_of
from tilewright.measure.build import build
from tilewright.measure.local import Local
from tilewright.models import Boosted, Training
from tilewright.tuning.session import FEATURES


def main() -> None:
    print(f"# {facts()}")
    for name in ("C6", "C9", "matmul1024"):
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
            f"{name}: {statistics.median(rates):.0f} scored a second (median of 5 x "
            f"{len(rows)}+ rows, one core); {measured:.1f} built, verified and timed a second "
            f"({count} random candidates); compile ms median "
            f"{statistics.median(compiled) * 1e3:.1f}, max {max(compiled) * 1e3:.1f}"
        )


if __name__ == "__main__":
    main()
