"""The error of Winograd's method by tile, against float64: what `schedule/winograd.py` states.

python -m benchmarks.winograd_error
"""

from __future__ import annotations

import tilewright as tw
from benchmarks.rounding import worst_error
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.winograd import TILES, taps_of, winograd
from tilewright.schedule.winograd import error
from tilewright.space.space import Space

CHANNELS = (16, 64, 128, 256, 512)
SEEDS = 3


FILTERS = ((3, 1), (3, 2), (2, 1), (4, 1), (4, 2), (5, 1), (5, 2), (7, 2))


def main() -> None:
    print("Greatest error as a share of the largest result; normal data, weights normal / uniform.")
    print("filter /stride, tile " + "".join(f"{c:>10} ch" for c in CHANNELS) + "     stated")
    for kernel, stride in FILTERS:
        for tile in 0, 2, 3, 4, 5, 6:
            stated = error(tile, taps_of((kernel,) * 2, (stride,) * 2)) if tile else 0.0
            if kernel != 3 and tile not in (0, *TILES[kernel, stride]):
                continue
            found: list[float] = []
            for channels in CHANNELS:
                op = Conv2d(
                    1, 14, 14, channels, 32, (kernel,) * 2, (stride,) * 2, (kernel // 2,) * 4,
                    tolerance=0.9,
                )  # fmt: skip
                found.append(max(_error(op, tile, seed) for seed in range(SEEDS)))
            label = f"{tile}x{tile}" if tile else "none"
            numbers = "".join(f"{e:13.1e}" for e in found)
            print(f"{kernel}x{kernel} /{stride} {label:<5}{numbers}{stated:11.0e}", flush=True)


def _error(op: Conv2d, tile: int, seed: int) -> float:
    """Return the greater error of two data sets, the second far from zero mean."""
    schedule = tw.Schedule(op.expression())
    if tile:
        space = Space.declare(
            lambda knob: winograd(schedule, knob, tw.host(), tile, op.kernel, op.stride)
        )
        schedule = space.instantiate(space.default())
    return worst_error(schedule, seed)


if __name__ == "__main__":
    main()
