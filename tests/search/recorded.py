"""Recorded tuning spaces as problems, so that searches can be compared without hardware."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tilewright.search import Problem
from tilewright.space import Knobs, Space

DATA = Path(__file__).parents[3] / "shared" / "data"
Measure = Callable[[NDArray[np.int32]], NDArray[np.float64]]


def load(path: Path) -> tuple[Problem, Measure, float]:
    """Return the space of recorded rows, a function to look scores up, and the best score."""
    with gzip.open(path, "rt") as lines:
        header, *records = csv.reader(lines)
    names = header[:-1]
    options = [sorted({int(record[i]) for record in records}) for i in range(len(names))]
    table = np.full([len(o) for o in options], np.nan)
    for record in records:
        at = tuple(o.index(int(v)) for o, v in zip(options, record, strict=False))
        table[at] = -np.inf if record[-1] == "failed" else -np.log(float(record[-1]))

    def recorded(knob: Knobs) -> list[object]:
        values = [knob.size(n, o) for n, o in zip(names, options, strict=True)]
        at = [np.searchsorted(o, v) for o, v in zip(options, values, strict=True)]
        knob.require(~np.isnan(table[tuple(at)]))
        return values

    def extract(rows: NDArray[np.int32]) -> NDArray[np.float32]:
        values = [np.array(o)[column] for o, column in zip(options, rows.T, strict=True)]
        return np.log2(1 + np.stack(values, axis=1)).astype(np.float32)

    best = float(np.nanmax(table))
    return Problem(Space.declare(recorded), extract), lambda rows: table[tuple(rows.T)], best
