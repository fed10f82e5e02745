"""Recorded programs as arrays, lowered once, so that any features can be made of them at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.workloads import AVX512, task_named
from tilewright.errors import TilewrightError
from tilewright.features import Costs, Tree
from tilewright.features.loops import COLUMNS, contexts
from tilewright.loops.nodes import Nest
from tilewright.models import Predictor, Training
from tilewright.models.quality import pairwise_accuracy, top_recall
from tilewright.records.store import Records
from tilewright.search.history import without_failures
from tilewright.search.problem import Problem
from tilewright.space.space import Space
from tilewright.testing.recorded import Recorded
from tilewright.tuning.session import scores

Array = NDArray[Any]
TOP = 0.1  # the share of a task's programs that count as its best


@dataclass(frozen=True, eq=False)
class Programs:
    """Measured programs of a task, a row each.

    `knobs` are their configurations, `loops` the contexts of their loops (rows, loops, columns),
    with zeros where a program has fewer than others, `trees` and `costs` what `Tree` and `Costs`
    make of them. Higher `scores` are better, -inf is a failure.
    """

    name: str
    knobs: Sequence[Mapping[str, Any]]
    loops: Array
    trees: Array
    costs: Array
    scores: Array

    def __len__(self) -> int:
        return len(self.scores)

    def recorded(self, X: Array) -> Recorded:
        """Return the problem to find the best of them by their features X."""
        space = Space.declare(lambda knob: knob.size("program", range(len(self))))
        problem = Problem(space, lambda pop: X[pop[:, 0]])
        return Recorded(problem, lambda pop: self.scores[pop[:, 0]], float(self.scores.max()))


def programs(name: str, most: int, stores: Sequence[Records]) -> Programs | None:
    """Return up to `most` programs of a layer, evenly over their times, from the first who has any.

    They are made from recorded steps, some 15 ms each: spaces may have changed since.
    """
    task = task_named(name, AVX512)
    held = (store.trials(task.key, task.where) for store in stores)
    trials = [trial for trial in next(filter(None, held), []) if trial.steps]
    trials.sort(key=lambda trial: trial.seconds or math.inf)
    if len(trials) > most:
        trials = [trials[i] for i in np.linspace(0, len(trials) - 1, most).astype(int)]
    made: list[Nest] = []
    kept: list[int] = []
    for i, trial in enumerate(trials):
        try:
            made.append(task.recorded(trial).loops)
        except TilewrightError:  # its steps no longer make a schedule
            continue
        kept.append(i)
    if not kept:
        return None
    return Programs(
        name,
        [trials[i].config for i in kept],
        _side_by_side([contexts(nest, 1)[0] for nest in made]),
        np.concatenate([Tree().of(nest, 1) for nest in made]),
        np.concatenate([Costs().of(nest, 1) for nest in made]),
        scores([trials[i].outcome for i in kept]),
    )


def _side_by_side(tables: Sequence[Array]) -> Array:
    out = np.zeros((len(tables), max(map(len, tables)), len(COLUMNS)), np.float32)
    for row, table in zip(out, tables, strict=True):
        row[: len(table)] = table
    return out


def of_knobs(tasks: Sequence[Programs]) -> list[Array]:
    """Return the configurations of tasks, with columns that knobs of one name have in common.

    A size is its logarithm, a choice of something else a flag; 0 where there is no such knob.
    """
    flat = [[_flat(knobs) for knobs in task.knobs] for task in tasks]
    places = {name: i for i, name in enumerate(sorted({n for of in flat for d in of for n in d}))}
    out = [np.zeros((len(of), len(places)), np.float32) for of in flat]
    for X, of in zip(out, flat, strict=True):
        for row, values in zip(X, of, strict=True):
            row[[places[name] for name in values]] = list(values.values())
    return out


def _flat(knobs: Mapping[str, Any]) -> dict[str, float]:
    out: dict[str, float] = {}
    for name, value in knobs.items():
        for i, part in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(part, int | float) and not isinstance(part, bool):
                out[f"{name}.{i}"] = math.log2(1 + abs(part))
            else:
                out[f"{name}.{i}={part}"] = 1.0
    return out


def training(parts: Sequence[tuple[Array, Array]]) -> Training:
    """Return features and scores of tasks as data to learn from, each task a group."""
    X, y = [part[0] for part in parts], [without_failures(part[1]) for part in parts]
    group = np.repeat(np.arange(len(parts)), [len(rows) for rows in X])
    return Training.of(np.concatenate(X), np.concatenate(y), group)


class Quality(NamedTuple):
    """How well a model ranks programs that it never saw.

    `accuracy` is over all pairs, `recall` over the best tenth; `share` is the speed of what it
    ranks first, as a share of the best.
    """

    accuracy: float
    recall: float
    share: float


def judged(predictor: Predictor, X: Array, scores: Array) -> Quality:
    predicted = predictor.predict(X)
    return Quality(
        pairwise_accuracy(predicted, scores),
        top_recall(predicted, scores, math.ceil(TOP * len(scores))),
        float(2.0 ** (scores[np.argmax(predicted)] - scores.max())),
    )


def averaged(many: Sequence[Quality]) -> Quality:
    """Return the means over tasks, of shares the geometric one."""
    accuracy, recall, shares = zip(*many, strict=True)
    share = float(np.prod(shares)) ** (1 / len(many))
    return Quality(float(np.mean(accuracy)), float(np.mean(recall)), share)
