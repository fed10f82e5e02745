"""Pictures of runs, each workload on axes of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.workloads import Curve, peak_of

_IN_A_ROW = 5
Draw = Callable[[Any, str, Mapping[str, Sequence[Curve]]], None]  # axes, workload, its runs


def by_trials(axis: Any, _: str, found: Mapping[str, Sequence[Curve]]) -> None:
    """Draw the median of each subject with a band from the first to the third quarter."""
    best = peak_of([curve for curves in found.values() for curve in curves])
    for name, curves in found.items():
        shares = 2.0 ** (np.stack([curve.best for curve in curves]) - best)
        band(axis, np.arange(1, shares.shape[1] + 1), shares, name)
    axis.set(xlabel="trials", ylabel="share of the best known", ylim=(0.4, 1.01))


def band(axis: Any, x: NDArray[Any], shares: NDArray[Any], name: str) -> None:
    """Draw the median of rows, and a band from the first to the third quarter of them."""
    low, middle, high = np.quantile(shares, (0.25, 0.5, 0.75), axis=0)
    axis.plot(x, middle, label=name)
    axis.fill_between(x, low, high, alpha=0.2)


def picture(path: Path, titles: Iterable[str], draw: Callable[[Any, str], None]) -> None:
    """Save a picture of axes, five a row, each drawn by its title; none without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        print(f"no {path.name}: it needs matplotlib (pip install matplotlib).", file=sys.stderr)
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    titles = list(titles)
    rows, columns = -(-len(titles) // _IN_A_ROW), min(len(titles), _IN_A_ROW)
    figure = pyplot.figure(figsize=(4.2 * columns, 3.6 * rows), layout="constrained")
    for i, title in enumerate(titles, 1):
        axis = figure.add_subplot(rows, columns, i, title=title)
        draw(axis, title)
    figure.axes[0].legend(fontsize="small")
    figure.savefig(path, dpi=120, metadata={"Software": None})
    pyplot.close(figure)
