"""What is known of candidates before any was measured: a model of other work, and a guess."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.features import FEATURES
from tilewright.features.extractor import of_nests
from tilewright.features.loops import contexts
from tilewright.loops.nodes import Nest
from tilewright.models.model import Predictor, predict
from tilewright.models.pretrained import Pretrained
from tilewright.models.transfer import spread
from tilewright.schedule.schedule import Schedule
from tilewright.space.space import Population, Space
from tilewright.tuning.guess import Array, cost

GUESS = 0.5  # what a deviation of the guessed cost is worth, in deviations of the model's scores


@dataclass(frozen=True)
class Known:
    """The usual features of a candidate, and then the guess."""

    version: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        return (*FEATURES.names, "guess")

    def extract(self, space: Space[Schedule], rows: Population) -> Array:
        def of(nest: Nest, count: int) -> Array:
            guessed = -np.log2(cost(nest, count))
            return np.column_stack([FEATURES.of(contexts(nest, count)), guessed])

        return of_nests(space, rows, len(self.names), of)


def prior(space: Space[Schedule], rows: Population) -> Array:
    """Return a score of each row, to be compared with each other; -inf for what has no schedule."""
    known = Known().extract(space, rows)
    fine = ~np.isnan(known).any(axis=1)
    scores = np.full(len(rows), -np.inf)
    if fine.any():
        scores[fine] = mixed(Pretrained(), known[fine])
    return scores


def mixed(model: Predictor, known: Array) -> Array:
    """Return what a model and the guess say of rows, by how each varies among them."""
    learnt = predict(model, np.ascontiguousarray(known[:, :-1]))
    return _standard(learnt) + GUESS * _standard(known[:, -1].astype(np.float64))


def _standard(values: Array) -> Array:
    """Bring values to median 0, and to an interquartile range as of a normal distribution."""
    return (values - np.median(values)) / spread(values)
