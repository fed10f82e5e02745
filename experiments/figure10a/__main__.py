"""Figure 10a: the best speed against seconds of tuning, beside what MetaSchedule came to.

python -m experiments.figure10a [--on C6 C7 C9] [--seeds 5] [--trials 200]

Everything counts that a first `tune()` on two threads does, starting its processes included.
Speeds are shares of the peak that it measures as it begins, as the clock drifts; in `curves.csv`
they are logarithms of that. `metaschedule.csv` is what TVM's MetaSchedule (apache-tvm, XGBoost, 200
trials from one seed) came to on such a machine: seconds of tuning, then the speed of its result on
two threads, timed again, and as a share of the peak beside it. Layout nchw is the paper's; nhwc has
its weights packed beforehand.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.command import markdown
from experiments.compare import USUAL, Runs, compare
from experiments.draw import band
from experiments.workloads import Curve, curve_of, task_named, timed
from tilewright.search import Search
from tilewright.tuning.task import Task

HERE = Path(__file__).parent
THREADS = 2
SUBJECTS = USUAL


class Mark(NamedTuple):
    """What another tuner came to, as a share of the peak, and after how many seconds."""

    workload: str
    layout: str
    seconds: float
    share: float


def marks(workload: str) -> list[Mark]:
    with (HERE / "metaschedule.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["workload"] == workload]
    return [
        Mark(workload, row["layout"], float(row["seconds"]), float(row["share_of_peak"]))
        for row in rows
    ]


@dataclass(frozen=True)
class Clocked:
    """A task on this machine as `tune` does it by itself; its speeds are shares of the peak."""

    name: str
    task: Task

    def run(self, search: Search, seed: int, trials: int) -> Curve:
        result, times = timed(self.task, search, seed, trials)
        peak = result.records.peak(self.task.where)
        assert peak is not None
        curve = curve_of(result, times)
        return Curve(curve.best + math.log2(self.task.flops / peak), curve.seconds)

    def settled(self, curves: Sequence[Curve]) -> list[Curve]:
        return list(curves)  # other times have another peak


@contextmanager
def clocked(names: Sequence[str]) -> Generator[list[Clocked]]:
    yield [Clocked(name, replace(task_named(name), threads=THREADS)) for name in names]


def seconds_to(curve: Curve, share: float) -> float:
    """Return when a run was at a share of the peak; inf if it never was."""
    reached = np.flatnonzero(curve.best >= math.log2(share))
    return float(curve.seconds[reached[0]]) if len(reached) else math.inf


def against_marks(runs: Runs) -> str:
    """Return, as Markdown, the seconds until runs are where MetaSchedule ended (median of seeds).

    In brackets the middle half of the seeds, then the share of MetaSchedule's own seconds.
    """
    names = list(dict.fromkeys(name for found in runs.values() for name in found))
    rows: list[list[str]] = []
    for mark in (mark for workload in runs for mark in marks(workload)):
        cells: list[str] = []
        for name in names:
            needed = [seconds_to(curve, mark.share) for curve in runs[mark.workload][name]]
            low, middle, high = np.quantile(needed, (0.25, 0.5, 0.75), method="inverted_cdf")
            ratio = f"{middle / mark.seconds:.3f}" if middle < math.inf else "never"
            cells.append(f"{middle:.1f} ({low:.1f}-{high:.1f}), {ratio}")
        said = f"{mark.share:.0%} of the peak after {mark.seconds:.0f} s"
        rows.append([f"{mark.workload} {mark.layout}", said, *cells])
    return markdown(["workload", "MetaSchedule", *(f"{n}: seconds, ratio" for n in names)], rows)


def by_seconds(axis: Any, workload: str, found: Mapping[str, Sequence[Curve]]) -> None:
    """Draw each subject by the time, while all its runs last, and a line up to each mark."""
    for name, curves in found.items():
        last = min(float(curve.seconds[-1]) for curve in curves)
        times = np.linspace(0.0, last, 400)
        shares: list[Any] = []
        for curve in curves:
            done = np.searchsorted(curve.seconds, times, side="right")
            shares.append(np.concatenate([[0.0], 2.0**curve.best])[done])
        band(axis, times, np.stack(shares), name)
    for mark, style in zip(marks(workload), ("o--", "s:"), strict=False):
        axis.plot([0, mark.seconds], [mark.share] * 2, style, color="grey", markevery=[1],
                  label=f"MetaSchedule {mark.layout}")  # fmt: skip
    axis.set(xlabel="seconds", ylabel="share of the peak", xscale="log", xlim=(0.5, None))


if __name__ == "__main__":
    compare(
        __doc__ or "", HERE, SUBJECTS, on=("C6", "C7", "C9"), trials=200, seeds=5, opened=clocked,
        tables=[against_marks], draw=by_seconds,
    )  # fmt: skip
