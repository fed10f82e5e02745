"""Recorded measurements as problems: searches and models compared without hardware, often."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import ArgumentError
from tilewright.features.extractor import Extractor
from tilewright.records.trial import Measured, Trial
from tilewright.search.problem import Problem, Searcher
from tilewright.space.config import Config
from tilewright.space.knobs import Knobs
from tilewright.space.space import Population, Space
from tilewright.tuning.guess import guess
from tilewright.tuning.task import Task

Scores = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Recorded:
    """A problem all of whose candidates were measured, and their scores, higher = better.

    `measure` gives the scores (n,) of rows, -inf for what failed; `best` is the greatest of all.
    Scores are minus the binary logarithm of the time, so `2 ** (score - best)` is the share of the
    best speed. A search is run on it, in no time and as often as there are seeds, by

        curve = recorded.run(search.start(recorded.problem, np.random.default_rng(seed)), trials)
    """

    problem: Problem
    measure: Callable[[Population], Scores]
    best: float

    def run(self, searcher: Searcher, trials: int, batch: int = 32) -> Scores:
        """Return the best score after each trial (trials,) of a search; -inf before a success."""
        curve = np.full(trials, -np.inf)
        done = 0
        while done < trials:
            rows = searcher.ask(min(batch, trials - done))
            if not len(rows):
                break
            scores = self.measure(rows)
            searcher.tell(rows, scores)
            curve[done : done + len(rows)] = scores
            done += len(rows)
        return np.maximum.accumulate(curve)


def read_table(path: str | Path) -> Recorded:
    """Return the space of a table: knobs, each a column of integers, then the time or `failed`.

    The file is CSV, compressed by gzip or not, with a line of names first. Combinations that it
    has no line for are not in the space. Times are above zero, in any unit. Features are the knobs'
    values, as log2(1 + value); there are no loops for an `Extractor` to look at.
    """
    path = Path(path)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as lines:
        header, *records = csv.reader(lines)
    if not records or any(len(record) != len(header) for record in records):
        raise ArgumentError(
            f"cannot read {path} as a table of trials: each line holds {len(header)} values, one a "
            "knob and then the time, and there is at least one."
        )
    names = header[:-1]
    options = [sorted({int(record[i]) for record in records}) for i in range(len(names))]
    scores = np.full([len(o) for o in options], np.nan)
    for record in records:
        at = tuple(o.index(int(v)) for o, v in zip(options, record, strict=False))
        scores[at] = -np.inf if record[-1] == "failed" else -np.log2(float(record[-1]))

    def recorded(knob: Knobs) -> list[object]:
        values = [knob.size(n, o) for n, o in zip(names, options, strict=True)]
        at = [np.searchsorted(o, v) for o, v in zip(options, values, strict=True)]
        knob.require(~np.isnan(scores[tuple(at)]))
        return values

    def extract(rows: Population) -> NDArray[np.float32]:
        values = [np.array(o)[column] for o, column in zip(options, rows.T, strict=True)]
        return np.log2(1 + np.stack(values, axis=1)).astype(np.float32)

    problem = Problem(Space.declare(recorded), extract)
    return Recorded(problem, lambda rows: scores[tuple(rows.T)], float(np.nanmax(scores)))


def pool(task: Task, trials: Sequence[Trial], extractor: Extractor) -> Recorded:
    """Return the problem to find the best of some trials of a task, by asking for few of them.

    `trials` are of one task and one place, as `records.trials(task.key, task.where)` gives them.
    The space has one knob, the number of a trial, so searches that mix or change knobs draw at
    random in it; what ranks all candidates, as a guided search does, can show how well. Features
    are those of `extractor`, for all trials: what a model asks for by `features` is not asked.
    """
    rows = np.stack([task.space.encode(Config.from_json(dict(trial.config))) for trial in trials])
    features = extractor.extract(task.space, rows)
    hints = guess(task.space, rows)
    outcomes = [trial.outcome for trial in trials]
    scores = np.array(
        [-np.log2(o.median) if isinstance(o, Measured) else -np.inf for o in outcomes]
    )
    numbers = range(len(trials))
    space = Space.declare(lambda knob: knob.size("trial", numbers))
    problem = Problem(space, lambda pop: features[pop[:, 0]], lambda pop: hints[pop[:, 0]])
    return Recorded(problem, lambda pop: scores[pop[:, 0]], float(scores.max()))
