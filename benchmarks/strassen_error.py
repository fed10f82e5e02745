"""The error of Strassen's algorithm, against float64: what `schedule/strassen.py` states.

python -m benchmarks.strassen_error
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright.expr.interpret import evaluate
from tilewright.ops.dense import Dense
from tilewright.ops.strassen import strassen
from tilewright.schedule.strassen import ERROR
from tilewright.space.space import Space

DEPTHS = (16, 64, 256, 1024, 2048)
SEEDS = 3
LOOPS = ("y", "x_", "k")


def main() -> None:
    print("Greatest error as a share of the largest result; normal data, weights normal / uniform.")
    print("        " + "".join(f"{depth:>8} deep" for depth in DEPTHS) + "   stated")
    for label in "none", "strassen":
        found = [
            max(_error(Dense(96, depth, 96), label, seed) for seed in range(SEEDS))
            for depth in DEPTHS
        ]
        stated = ERROR if label == "strassen" else 0.0
        print(f"{label:<8}" + "".join(f"{e:13.1e}" for e in found), f"{stated:8.0e}")


def _error(op: Dense, label: str, seed: int) -> float:
    """Return the greater error of two data sets, the second far from zero mean."""
    expression = op.expression()
    schedule = tw.Schedule(expression)
    if label == "strassen":
        space = Space.declare(lambda knob: strassen(schedule, knob, tw.host(), LOOPS))
        schedule = space.instantiate(space.default())
    kernel = tw.build(schedule, threads=1)
    rng = np.random.default_rng(seed)
    worst = 0.0
    for draw in (rng.standard_normal, rng.random):
        data = {t.name: draw(t.shape).astype(np.float32) for t in expression.inputs}
        wanted = evaluate(expression, data)[expression.name]
        got = kernel(*(data[b.name] for b in kernel.inputs))
        worst = max(worst, float(np.abs(got - wanted).max() / np.abs(wanted).max()))
    return worst


if __name__ == "__main__":
    main()
