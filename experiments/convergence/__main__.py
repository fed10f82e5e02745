"""Convergence: how soon and how far the default search gets, against random and genetic search.

python -m experiments.convergence [--on C1 C2 ... | gemm_RTX_3090 ...] [--trials 300] [--seeds 5]

On the machine every run begins with what would run untuned, which counts for none.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from experiments.command import markdown
from experiments.compare import USUAL, Runs, compare
from experiments.workloads import Curve, peak_of, trials_to

SUBJECTS = USUAL


def ratios(runs: Runs) -> str:
    """Return, as Markdown, what the guided search needs and reaches as a share of each other's.

    Trials to a share of the best known, and the speed at the end, are medians over the seeds, and
    count one trial more than there were if these did not do. The regret is how much slower than the
    best known a search ends, on the mean of the seeds. Of the workloads' ratios, trials and regret
    are the median, the speed the mean; the least and the greatest are in brackets.
    """
    rows: list[list[str]] = []
    for other in (name for name in SUBJECTS if name != "guided"):
        found = [on for on in runs.values() if "guided" in on and other in on]
        if not found:
            continue
        pairs = [
            (peak_of([c for curves in on.values() for c in curves]), on["guided"], on[other])
            for on in found
        ]
        cells: list[str] = []
        for share in (0.9, 0.95, 0.98):
            each = [
                np.median([trials_to(c, share, best) for c in ours])
                / np.median([trials_to(c, share, best) for c in theirs])
                for best, ours, theirs in pairs
            ]
            cells.append(f"{np.median(each):.2f} ({min(each):.2f}-{max(each):.2f})")
        ends = [_end(ours) / _end(theirs) for _, ours, theirs in pairs]
        regret = [_regret(best, ours) / _regret(best, theirs) for best, ours, theirs in pairs]
        rows.append([
            other, *cells, f"{np.mean(ends):.3f} ({min(ends):.3f}-{max(ends):.3f})",
            f"{np.median(regret):.2f}",
        ])  # fmt: skip
    header = (
        "guided against",
        "trials to 90 %",
        "to 95 %",
        "to 98 %",
        "speed at the end",
        "regret",
    )
    return markdown(header, rows)


def _end(curves: list[Curve]) -> float:
    return float(np.median([2.0 ** c.best[-1] for c in curves]))


def _regret(best: float, curves: list[Curve]) -> float:
    return float(np.mean([2.0 ** (best - c.best[-1]) - 1 for c in curves])) or math.ulp(1.0)


if __name__ == "__main__":
    layers = [f"C{i}" for i in range(1, 13)]
    folder = Path(__file__).parent
    compare(__doc__ or "", folder, SUBJECTS, on=layers, trials=300, seeds=5, tables=[ratios])
