"""What the experiments search on: the machine, recorded trials of the layers, recorded tables.

A name says which: `C6` is tuned on this machine, `pool:C6` looks for the best of the trials of C6
in `data/trials.jsonl.xz`, `gemm_RTX_3090` is a table in `data/`. `avx2:C6` and `pool:avx2:C6` are
the same as code for x86-64-v3.
"""

from __future__ import annotations

import json
import lzma
import math
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import numpy as np
from benchmarks.workloads import WORK, task_of
from numpy.typing import NDArray

from tilewright.errors import ArgumentError
from tilewright.features import FEATURES, Extractor
from tilewright.measure.local import Local, Measurer
from tilewright.records.lines import import_lines
from tilewright.records.store import Records
from tilewright.records.trial import Measured, Trial
from tilewright.search import Search
from tilewright.target import Target
from tilewright.testing.recorded import Recorded, pool, read_table
from tilewright.tuning.events import Event
from tilewright.tuning.result import Result
from tilewright.tuning.task import Task
from tilewright.tuning.tune import tune

DATA = Path(__file__).parent / "data"
TABLES = tuple(sorted(path.name.split(".")[0] for path in DATA.glob("gemm_*.csv.gz")))
# The machine of the records, and AVX2 code on it. Spaces need a target, not the machine.
AVX512 = Target(
    "znver5", "x86_64-unknown-linux-gnu", "znver5", ("+avx512f", "+avx512vnni", "+avx512bf16"),
    1, 64, 32,
)  # fmt: skip
ZEN3 = Target("znver3", "x86_64-unknown-linux-gnu", "znver3", ("+avx2", "+fma"), 1, 32, 16)
AVX2 = Target("x86-64-v3")
BATCH = 16
ROUNDS = 3  # in which what led is timed again


@dataclass(frozen=True, slots=True)
class Curve:
    """What a search reached: the binary logarithm of the best speed (1/s) after each trial.

    `seconds` is the wall time at the end of each trial's batch, nan where nothing ran. `leaders`
    are the trials that were the fastest so far, by their place on the curve, if any ran.
    """

    best: NDArray[np.float64]
    seconds: NDArray[np.float64]
    leaders: Mapping[int, Trial] = field(default_factory=dict[int, Trial])

    def every(self, step: int) -> Curve:
        """Return the curve with `step` trials counted as one."""
        some = slice(step - 1, None, step)
        leaders = {at // step: trial for at, trial in self.leaders.items()}
        return Curve(self.best[some], self.seconds[some], leaders)


class Workload(Protocol):
    """A problem that a search can be run on again and again; tables of numbers have no `task`."""

    @property
    def name(self) -> str: ...

    @property
    def task(self) -> Task | None: ...

    def run(self, search: Search, seed: int, trials: int) -> Curve: ...

    def settled(self, curves: Sequence[Curve]) -> list[Curve]:
        """Return curves of runs with what luck chose taken out of them, once all have run."""
        ...


@dataclass(frozen=True)
class Replayed:
    """Recorded outcomes: of a task's trials, or without one of a table's lines."""

    name: str
    task: Task | None = None

    def run(self, search: Search, seed: int, trials: int) -> Curve:
        if self.task is None:
            return replay(_table(self.name), search, seed, trials)
        return replay(_pool(self.name, features_of(search) or FEATURES), search, seed, trials)

    def settled(self, curves: Sequence[Curve]) -> list[Curve]:
        return list(curves)


@dataclass(frozen=True)
class OnMachine:
    """A task on this machine; each run starts without records.

    Its first trial is what would run untuned, whatever the search, so that counts for none.
    """

    name: str
    task: Task
    local: Measurer

    def run(self, search: Search, seed: int, trials: int) -> Curve:
        result, times = timed(self.task, search, seed, 1 + trials, batch=BATCH, measure=self.local)
        return curve_of(result, times, first=1)

    def settled(self, curves: Sequence[Curve]) -> list[Curve]:
        """Time all that ever led again, in turn: of many equal trials the luckiest leads."""
        leaders = {_config(t): t for curve in curves for t in curve.leaders.values()}
        again: dict[str, list[float]] = {key: [] for key in leaders}
        for _ in range(ROUNDS):
            requests = (self.task.request(self.task.recorded(t)) for t in leaders.values())
            for key, outcome in zip(leaders, self.local.measure(requests), strict=True):
                if isinstance(outcome, Measured):
                    again[key] += outcome.seconds
        speeds = {key: -math.log2(median(found)) for key, found in again.items() if found}
        return [_retold(curve, speeds) for curve in curves]


def _retold(curve: Curve, speeds: Mapping[str, float]) -> Curve:
    """Return a curve with other speeds of those that led, by their configuration."""
    best = np.full(len(curve.best), -math.inf)
    for at, trial in curve.leaders.items():
        best[at:] = np.maximum(best[at:], speeds.get(_config(trial), -math.inf))
    return Curve(best, curve.seconds, curve.leaders)


def _config(trial: Trial) -> str:
    return json.dumps(trial.config, sort_keys=True)


def timed(
    task: Task, search: Search, seed: int, trials: int, **options: Any
) -> tuple[Result, list[float]]:
    """Tune a task, with options of `tune`; return also after how many seconds a trial was done."""
    times: list[float] = []
    begin = time.perf_counter()

    def watch(_: Event) -> None:
        times.append(time.perf_counter() - begin)

    return tune(task, trials=trials, search=search, seed=seed, watch=watch, **options), times


@contextmanager
def opened(names: Sequence[str]) -> Generator[list[Workload]]:
    """Yield the workloads of some names; raise ArgumentError for a name that is none."""
    with Local() as local:
        yield [_workload(name, local) for name in names]


def _workload(name: str, local: Measurer) -> Workload:
    if name in TABLES:
        return Replayed(name)
    layer = name.removeprefix("pool:")
    if layer == name:
        return OnMachine(name, task_named(name), local)
    task = task_named(layer, AVX512)
    if not recorded().trials(task.key, task.where):
        raise ArgumentError(f"there are no trials of {layer} in {DATA}.")
    return Replayed(name, task)


def task_named(name: str, target: Target | None = None) -> Task:
    """Return the task of a layer, for `target` (or this machine) unless the name says `avx2:`."""
    layer = name.removeprefix("avx2:")
    if layer not in WORK:
        raise ArgumentError(
            f"there is no workload {name!r}: name one of {', '.join((*TABLES, *WORK))}; before a "
            "layer there may be pool:, avx2: or pool:avx2:."
        )
    return task_of(WORK[layer], target=target if layer == name else AVX2)


def replay(recorded: Recorded, search: Search, seed: int, trials: int) -> Curve:
    """Run a search on recorded outcomes."""
    best = recorded.run(search.start(recorded.problem, np.random.default_rng(seed)), trials, BATCH)
    return Curve(best, np.full(len(best), np.nan))


def curve_of(result: Result, times: Sequence[float], first: int = 0) -> Curve:
    """Return the curve of tuning one task from its trial number `first` on.

    `times` are when each trial was done.
    """
    (session,) = result.sessions
    found = session.records.trials(session.task.key, session.task.where)[first:]
    each = [t.seconds or math.inf for t in found]
    least = np.minimum.accumulate(each)
    leads = np.flatnonzero(np.diff(least, prepend=math.inf) < 0)
    return Curve(-np.log2(least), np.array(times[first:]), {int(i): found[i] for i in leads})


def features_of(search: object) -> Extractor | None:
    """Return the features that a search's model asks for, if it asks for any."""
    return getattr(search, "features", None)


@cache
def _table(name: str) -> Recorded:
    return read_table(DATA / f"{name}.csv.gz")


@cache
def _pool(name: str, features: Extractor) -> Recorded:
    task = task_named(name.removeprefix("pool:"), AVX512)
    return pool(task, recorded().trials(task.key, task.where), features)


@cache
def recorded() -> Records:
    """Return the recorded trials, in memory."""
    return read_trials(DATA / "trials.jsonl.xz")


def read_trials(*paths: Path) -> Records:
    """Return the trials of files of lines that are compressed, in memory."""
    records = Records(":memory:")
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            lines = Path(folder) / "trials.jsonl"
            lines.write_bytes(lzma.decompress(path.read_bytes()))
            import_lines(records, lines)
    return records


def peak_of(curves: list[Curve]) -> float:
    """Return the best that any of some runs reached."""
    return max(float(curve.best.max()) for curve in curves)


def trials_to(curve: Curve, share: float, best: float) -> int:
    """Return how many trials it took to reach a share of the best speed; one more if it did not."""
    reached = np.flatnonzero(curve.best >= best + math.log2(share))
    return int(reached[0]) + 1 if len(reached) else len(curve.best) + 1
