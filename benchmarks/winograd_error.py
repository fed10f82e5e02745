"""The error of Winograd's method by tile, against float64: what `schedule/winograd.py` states.

python -m benchmarks.winograd_error
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright.expr.interpret import evaluate
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.winograd import winograd
from tilewright.schedule.winograd import ERRORS
from tilewright.space.space import Space

CHANNELS = (16, 64, 128, 256, 512)
SEEDS = 3


def main() -> None:
    print("Greatest error as a share of the largest result; normal data, weights normal / uniform.")
    print("stride, tile " + "".join(f"{c:>10} ch" for c in CHANNELS) + "      stated")
    for stride in (1, 2):
        for tile, stated in ({0: 0.0} | ERRORS).items():
            found: list[float] = []
            for channels in CHANNELS:
                op = Conv2d(1, 14, 14, channels, 32, (3, 3), (stride,) * 2, (1,) * 4, tolerance=0.9)
                found.append(max(_error(op, tile, seed) for seed in range(SEEDS)))
            label = f"{tile}x{tile}" if tile else "none"
            print(f"/{stride} {label:<5}" + "".join(f"{e:13.1e}" for e in found), f"{stated:9.0e}")


def _error(op: Conv2d, tile: int, seed: int) -> float:
    """Return the greater error of two data sets, the second far from zero mean."""
    expression = op.expression()
    schedule = tw.Schedule(expression)
    if tile:
        space = Space.declare(lambda knob: winograd(schedule, knob, tw.host(), tile, op.stride))
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
