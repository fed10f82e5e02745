"""Run several searches on several workloads and seeds; write curves, a picture and a table."""

from __future__ import annotations

import csv
import math
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from experiments.command import count, keep, markdown, options
from experiments.draw import Draw, by_trials, picture
from experiments.workloads import (
    TABLES,
    Curve,
    Workload,
    features_of,
    opened,
    peak_of,
    trials_to,
)
from tilewright.models import TreeGRU
from tilewright.search import Genetic, RandomSearch, Search
from tilewright.tuning.tune import DEFAULT

_CELL = "trials to 95 %, at the end"
Runs = dict[str, dict[str, list[Curve]]]  # by workload, by subject, one a seed


@dataclass(frozen=True, slots=True)
class Subject:
    """A search to compare; `evaluations` is how many measurements count as one trial."""

    search: Search
    evaluations: int = 1

    def takes(self, workload: Workload) -> bool:
        """Whether there is what the search's model looks at: tables of numbers have no loops."""
        return workload.task is not None or features_of(self.search) is None

    def on(self, workload: Workload) -> Search:  # noqa: ARG002
        """Return the search as it is run on a workload."""
        return self.search

    def run(self, workload: Workload, seed: int, trials: int) -> Curve:
        curve = workload.run(self.on(workload), seed, trials * self.evaluations)
        return curve.every(self.evaluations)


USUAL = {
    "guided": Subject(DEFAULT),
    "random": Subject(RandomSearch()),
    "genetic": Subject(Genetic()),
}


def compare(
    doc: str,
    folder: Path,
    subjects: Mapping[str, Subject],
    *,
    on: Sequence[str] = TABLES,
    trials: int = 192,
    seeds: int = 10,
    opened: Callable[[Sequence[str]], AbstractContextManager[Sequence[Workload]]] = opened,
    tables: Sequence[Callable[[Runs], str]] = (),
    draw: Draw = by_trials,
) -> None:
    """Be the command of a figure: `folder` gets `curves.csv`, `figure.png` and `table.md`.

    `tables` are said after the usual one; `draw` draws the runs on a workload.
    """
    parser = options(doc)
    parser.add_argument("--on", nargs="*", default=list(on), help="workloads")
    parser.add_argument("--trials", type=count, default=trials)
    parser.add_argument("--seeds", type=count, default=seeds)
    parser.add_argument("--subjects", nargs="*", default=list(subjects), choices=list(subjects))
    parser.add_argument("--out", type=Path, default=folder)
    parser.add_argument("--read", type=Path, nargs="+", help="curves.csv of runs; runs nothing")
    args = parser.parse_args()
    chosen = {name: subjects[name] for name in args.subjects}
    if args.read:
        runs = read(args.read, args.trials)
    else:
        with opened(args.on) as workloads:
            runs = {w.name: run(w, chosen, args.seeds, args.trials) for w in workloads}
    args.out.mkdir(parents=True, exist_ok=True)
    write(args.out / "curves.csv", runs)
    keep(args.out / "table.md", "\n\n".join(make(runs) for make in (table, *tables)))
    picture(args.out / "figure.png", runs, lambda axis, on: draw(axis, on, runs[on]))


def run(
    workload: Workload, subjects: Mapping[str, Subject], seeds: int, trials: int
) -> dict[str, list[Curve]]:
    """Run those of some searches that can be run on a workload, in turn."""
    here: dict[str, Subject] = {}
    for name, subject in subjects.items():
        lacking = "loops to look at" if not subject.takes(workload) else missing(subject.search)
        if lacking:
            print(f"{workload.name}: {name} is left out, for want of {lacking}", file=sys.stderr)
        else:
            here[name] = subject
    found: dict[str, list[Curve]] = {name: [] for name in here}
    for seed in range(seeds):
        for name, subject in here.items():
            found[name].append(subject.run(workload, seed, trials))
        print(f"{workload.name}: seed {seed + 1} of {seeds}", file=sys.stderr)
    settled = iter(workload.settled([curve for curves in found.values() for curve in curves]))
    return {name: [next(settled) for _ in curves] for name, curves in found.items()}


def table(runs: Runs) -> str:
    """Return, as Markdown, the trials to 95 % of the best known and the share reached at last.

    Both are medians over the seeds; in brackets the middle half of the seeds.
    """
    names = list(dict.fromkeys(name for found in runs.values() for name in found))
    rows: list[list[str]] = []
    for workload, found in runs.items():
        best = peak_of([curve for curves in found.values() for curve in curves])
        cells: list[str] = []
        for name in names:
            if name not in found:
                cells.append("-")
                continue
            shares = [2.0 ** (float(curve.best[-1]) - best) for curve in found[name]]
            needed = trials_until(found[name], best + math.log2(0.95))
            cells.append(f"{needed}, {statistics.median(shares):.1%}")
        rows.append([workload, *cells])
    return markdown(["workload", *(f"{name}: {_CELL}" for name in names)], rows)


def missing(part: object) -> str:
    """Return the package that a search, or a part of it, lacks: TreeGRU needs an optional one."""
    if isinstance(part, TreeGRU):
        return "" if find_spec("torch") else "PyTorch (pip install '.[torch]')"
    parts = (getattr(part, name, None) for name in ("search", "model", "local", "base"))
    return next(filter(None, (missing(each) for each in parts if each is not None)), "")


def trials_until(curves: Sequence[Curve], best: float) -> str:
    """Return the median of the trials until curves are at `best`, with the middle half of them."""
    needed, never = [trials_to(curve, 1.0, best) for curve in curves], len(curves[0].best)
    low, high = np.quantile(needed, (0.25, 0.75))
    middle = np.quantile(needed, 0.5, method="higher")  # of two, one that there is
    said = f"{middle:.0f}" if middle <= never else f"more than {never}"
    return f"{said} ({low:.0f}-{high:.0f})"


def read(paths: Sequence[Path], trials: int) -> Runs:
    """Return the runs that `write` wrote, as curves of so many trials."""
    steps: dict[tuple[str, str, str, str], list[dict[str, str]]] = {}
    for path in paths:
        with path.open(newline="") as file:
            for line in csv.DictReader(file):
                curve = str(path), line["workload"], line["subject"], line["seed"]
                steps.setdefault(curve, []).append(line)
    runs: Runs = {}
    for (_, workload, subject, _), lines in steps.items():
        best, seconds = np.full(trials, -np.inf), np.full(trials, np.nan)
        for line in lines:
            after = slice(int(line["trial"]) - 1, None)
            best[after], seconds[after] = float(line["best_log2_speed"]), float(line["seconds"])
        runs.setdefault(workload, {}).setdefault(subject, []).append(Curve(best, seconds))
    return runs


def write(path: Path, runs: Runs) -> None:
    """Write one line for each trial at which a run got better."""
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(("workload", "subject", "seed", "trial", "seconds", "best_log2_speed"))
        for workload, found in runs.items():
            for name, curves in found.items():
                for seed, curve in enumerate(curves):
                    steps = np.flatnonzero(np.diff(curve.best, prepend=-np.inf) > 0)
                    for at in steps:
                        row = (curve.seconds[at], curve.best[at])
                        out.writerow(
                            (workload, name, seed, at + 1, *(f"{value:.4f}" for value in row))
                        )
