"""What is known of candidates before any was measured: a model of other work, else a guess."""

from __future__ import annotations

import numpy as np

from tilewright.models.model import predict
from tilewright.models.pretrained import COSTS, Pretrained
from tilewright.schedule.schedule import Schedule
from tilewright.space.space import Population, Space
from tilewright.tuning.guess import Array, guess


def prior(space: Space[Schedule], rows: Population) -> Array:
    """Return a score of each row, to be compared with each other; -inf for what has no schedule."""
    costs = COSTS.extract(space, rows)
    fine = ~np.isnan(costs).any(axis=1)
    learnt = predict(Pretrained(), costs[fine])
    if not len(learnt) or not np.ptp(learnt):
        return guess(space, rows)
    scores = np.full(len(rows), -np.inf)
    scores[fine] = learnt
    return scores
