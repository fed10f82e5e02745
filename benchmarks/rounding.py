"""The error of a schedule's code, which an algorithm's stated error is taken from."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright.expr.interpret import evaluate


def worst_error(schedule: tw.Schedule, seed: int) -> float:
    """Return the greatest error against float64, as a share of the largest result.

    It is the greater one of two data sets, the second far from zero mean.
    """
    expression = schedule.output
    kernel = tw.build(schedule, threads=1)
    rng = np.random.default_rng(seed)
    worst = 0.0
    for draw in (rng.standard_normal, rng.random):
        data = {t.name: draw(t.shape).astype(np.float32) for t in expression.inputs}
        wanted = evaluate(expression, data)[expression.name]
        got = kernel(*(data[b.name] for b in kernel.inputs))
        worst = max(worst, float(np.abs(got - wanted).max() / np.abs(wanted).max()))
    return worst
