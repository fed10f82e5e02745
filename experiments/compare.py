"""Run several searches on several workloads and seeds; write curves, a picture and a table."""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.workloads import TABLES, Curve, opened, peak_of, trials_to
from tilewright.search import Search

_CELL = "trials to 95 %, at the end"
Runs = dict[str, dict[str, list[Curve]]]  # by workload, by subject, one a seed


@dataclass(frozen=True, slots=True)
class Subject:
    """A search to compare; `evaluations` is how many measurements count as one trial."""

    search: Search
    evaluations: int = 1

    def run(self, workload: object, seed: int, trials: int) -> Curve:
        curve: Curve = workload.run(self.search, seed, trials * self.evaluations)  # type: ignore[attr-defined]
        every = slice(self.evaluations - 1, None, self.evaluations)
        return Curve(curve.best[every], curve.seconds[every])


def compare(doc: str, folder: Path, subjects: Mapping[str, Subject]) -> None:
    """Be the command of a figure: `folder` gets `curves.csv`, `figure.png` and `table.md`."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--on", nargs="*", default=list(TABLES), help="workloads")
    parser.add_argument("--trials", type=int, default=192)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--subjects", nargs="*", default=list(subjects), choices=list(subjects))
    parser.add_argument("--out", type=Path, default=folder)
    args = parser.parse_args()
    runs: Runs = {}
    with opened(args.on) as workloads:
        for workload in workloads:
            here = {n: subjects[n] for n in args.subjects if workload.takes(subjects[n].search)}
            found = runs.setdefault(workload.name, {name: [] for name in here})
            for seed in range(args.seeds):
                for name, subject in here.items():
                    found[name].append(subject.run(workload, seed, args.trials))
                print(f"{workload.name}: seed {seed + 1} of {args.seeds}", file=sys.stderr)
    args.out.mkdir(parents=True, exist_ok=True)
    _write(args.out / "curves.csv", runs)
    text = table(runs)
    (args.out / "table.md").write_text(text + "\n")
    print(text)
    _plot(args.out / "figure.png", runs)


def table(runs: Runs) -> str:
    """Return, as Markdown, the trials to 95 % of the best known and the share reached at last.

    Both are medians over the seeds; in brackets the middle half of the seeds.
    """
    names = list(dict.fromkeys(name for found in runs.values() for name in found))
    lines = [
        "".join(f"| {name} " for name in ("workload", *(f"{n}: {_CELL}" for n in names))) + "|",
        "| --- |" + " --- |" * len(names),
    ]
    for workload, found in runs.items():
        best = peak_of([curve for curves in found.values() for curve in curves])
        cells: list[str] = []
        for name in names:
            if name not in found:
                cells.append("-")
                continue
            needed = [trials_to(curve, 0.95, best) for curve in found[name]]
            shares = [2.0 ** (float(curve.best[-1]) - best) for curve in found[name]]
            low, high = np.quantile(needed, (0.25, 0.75))
            never = len(found[name][0].best)
            middle = statistics.median(needed)
            said = f"{middle:.0f}" if middle <= never else f"more than {never}"
            cells.append(f"{said} ({low:.0f}-{high:.0f}), {statistics.median(shares):.1%}")
        lines.append(f"| {workload} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _write(path: Path, runs: Runs) -> None:
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


def _plot(path: Path, runs: Runs) -> None:
    """Draw the median of each subject with a band from the first to the third quarter."""
    try:
        import matplotlib
    except ImportError:
        print(f"no {path.name}: it needs matplotlib (pip install matplotlib).", file=sys.stderr)
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(
        1, len(runs), figsize=(4.2 * len(runs), 3.6), squeeze=False, layout="constrained"
    )
    for axis, (workload, found) in zip(axes[0], runs.items(), strict=True):
        best = peak_of([curve for curves in found.values() for curve in curves])
        for name, curves in found.items():
            shares = 2.0 ** (np.stack([curve.best for curve in curves]) - best)
            low, middle, high = np.quantile(shares, (0.25, 0.5, 0.75), axis=0)
            trials = np.arange(1, len(middle) + 1)
            axis.plot(trials, middle, label=name)
            axis.fill_between(trials, low, high, alpha=0.2)
        axis.set(title=workload, xlabel="trials", ylim=(0.4, 1.01))
        axis.set_ylabel("share of the best known")
    axes[0][0].legend(fontsize="small")
    figure.savefig(path, dpi=120, metadata={"Software": None})
    pyplot.close(figure)
