"""The error of Strassen's algorithm, against float64: what `schedule/strassen.py` states.

python -m benchmarks.strassen_error
"""

from __future__ import annotations

import tilewright as tw
from benchmarks.rounding import worst_error
from tilewright.ops.dense import Dense
from tilewright.ops.strassen import strassen
from tilewright.schedule.strassen import ERRORS
from tilewright.space.space import Space

DEPTHS = (16, 64, 256, 1024, 2048)
SEEDS = 3
LOOPS = ("y", "x_", "k")


def main() -> None:
    print("Greatest error as a share of the largest result; normal data, weights normal / uniform.")
    print("        " + "".join(f"{depth:>8} deep" for depth in DEPTHS) + "   stated")
    for levels in 0, *ERRORS:
        found = [
            max(_error(Dense(96, depth, 96), levels, seed) for seed in range(SEEDS))
            for depth in DEPTHS
        ]
        stated = ERRORS[levels] if levels else 0.0
        print(f"{levels} times" + "".join(f"{e:13.1e}" for e in found), f"{stated:8.1e}")


def _error(op: Dense, levels: int, seed: int) -> float:
    """Return the greater error of two data sets, the second far from zero mean."""
    schedule = tw.Schedule(op.expression())
    if levels:
        space = Space.declare(
            lambda knob: strassen(schedule, knob, tw.host(), LOOPS, levels=levels)
        )
        schedule = space.instantiate(space.default())
    return worst_error(schedule, seed)


if __name__ == "__main__":
    main()
