"""The error of Winograd's method by tile, against float64: what `schedule/winograd.py` states.

python -m benchmarks.winograd_error
"""

from __future__ import annotations

import tilewright as tw
from benchmarks.rounding import worst_error
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
    schedule = tw.Schedule(op.expression())
    if tile:
        space = Space.declare(lambda knob: winograd(schedule, knob, tw.host(), tile, op.stride))
        schedule = space.instantiate(space.default())
    return worst_error(schedule, seed)


if __name__ == "__main__":
    main()
