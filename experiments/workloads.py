"""What the experiments search on: the machine, recorded trials of the layers, recorded tables.

A name says which: `C6` is tuned on this machine, `pool:C6` looks for the best of the trials of C6
in `data/trials.jsonl.xz`, `gemm_RTX_3090` is a table in `data/`.
"""

from __future__ import annotations

import itertools
import lzma
import math
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
from benchmarks.workloads import WORK, task_of
from numpy.typing import NDArray

from tilewright.errors import ArgumentError
from tilewright.features import Extractor
from tilewright.measure.local import Local
from tilewright.records.lines import import_lines
from tilewright.records.store import Records
from tilewright.search import Search
from tilewright.target import Target
from tilewright.testing.recorded import Recorded, pool, read_table
from tilewright.tuning.session import FEATURES
from tilewright.tuning.tune import tune

DATA = Path(__file__).parent / "data"
TABLES = tuple(sorted(path.name.split(".")[0] for path in DATA.glob("gemm_*.csv.gz")))
# The machines of the records: znver5, and AVX2 code on it. Spaces need a target, not the machine.
RECORDED_ON = (
    Target("znver5", "x86_64-unknown-linux-gnu", "znver5",
           ("+avx512f", "+avx512vnni", "+avx512bf16"), 1, 64, 32),
    Target("x86-64-v3"),
)  # fmt: skip
BATCH = 16


@dataclass(frozen=True, slots=True)
class Curve:
    """What a search reached: the binary logarithm of the best speed (1/s) after each trial.

    `seconds` is the wall time at the end of each trial's batch, nan where nothing ran.
    """

    best: NDArray[np.float64]
    seconds: NDArray[np.float64]


class Workload(Protocol):
    """A problem that a search can be run on again and again."""

    name: str

    def takes(self, search: Search) -> bool:
        """Whether there is what the search's model looks at: tables of numbers have no loops."""
        ...

    def run(self, search: Search, seed: int, trials: int) -> Curve: ...


@dataclass(frozen=True)
class Replayed:
    """Recorded outcomes."""

    name: str
    recorded: Recorded

    def takes(self, search: Search) -> bool:
        return self.name not in TABLES or _features(search) is None

    def run(self, search: Search, seed: int, trials: int) -> Curve:
        features = _features(search)
        recorded = self.recorded if features is None else _pool(self.name, features)
        searcher = search.start(recorded.problem, np.random.default_rng(seed))
        best = recorded.run(searcher, trials, BATCH)
        return Curve(best, np.full(len(best), np.nan))


@dataclass(frozen=True)
class Measured:
    """A task on this machine; each run starts without records."""

    name: str
    local: Local

    def takes(self, search: Search) -> bool:  # noqa: ARG002
        return True

    def run(self, search: Search, seed: int, trials: int) -> Curve:
        times: list[float] = []
        begin = time.perf_counter()
        result = tune(
            task_of(WORK[self.name]), trials=trials, search=search, seed=seed, batch=BATCH,
            measure=self.local, watch=lambda _: times.append(time.perf_counter() - begin),
        )  # fmt: skip
        (session,) = result.sessions
        found = session.records.trials(session.task.key, session.task.where)
        least = itertools.accumulate((t.seconds or math.inf for t in found), min)
        best = -np.log2(np.fromiter(least, np.float64, len(found)))
        return Curve(best[:trials], np.array(times[:trials]))


@contextmanager
def opened(names: list[str]) -> Iterator[list[Workload]]:
    """Yield the workloads of some names; raise ArgumentError for a name that is none."""
    for name in names:
        if name not in (*TABLES, *WORK) and name.removeprefix("pool:") not in WORK:
            raise ArgumentError(
                f"there is no workload {name!r}: name one of {', '.join((*TABLES, *WORK))}, or "
                "pool: and a layer."
            )
    with Local() as local:
        yield [
            Measured(name, local)
            if name in WORK
            else Replayed(name, _pool(name, FEATURES) if ":" in name else _table(name))
            for name in names
        ]


def _features(search: Search) -> Extractor | None:
    return getattr(getattr(search, "model", None), "features", None)


def _table(name: str) -> Recorded:
    return read_table(DATA / f"{name}.csv.gz")


@cache
def _pool(name: str, features: Extractor) -> Recorded:
    work, records = WORK[name.removeprefix("pool:")], recorded()
    key = task_of(work).key
    places = [each.target for each in records.tasks() if each.key == key]
    if not places:
        raise ArgumentError(f"there are no trials of {work.name} in {DATA}.")
    target = next(t for t in RECORDED_ON if t.key in places)
    return pool(task_of(work, target=target), records.trials(key, target.key), features)


@cache
def recorded() -> Records:
    """Return the recorded trials, in memory."""
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "trials.jsonl"
        lines.write_bytes(lzma.decompress((DATA / "trials.jsonl.xz").read_bytes()))
        records = Records(":memory:")
        import_lines(records, lines)
    return records


def peak_of(curves: list[Curve]) -> float:
    """Return the best that any of some runs reached."""
    return max(float(curve.best.max()) for curve in curves)


def trials_to(curve: Curve, share: float, best: float) -> int:
    """Return how many trials it took to reach a share of the best speed; one more if it did not."""
    reached = np.flatnonzero(curve.best >= best + math.log2(share))
    return int(reached[0]) + 1 if len(reached) else len(curve.best) + 1
