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


def main() -> None:
    print("Greatest error as a share of the largest result; normal data, weights normal / uniform.")
    print("filter /stride, tile " + "".join(f"{c:>10} ch" for c in CHANNELS) + "     stated")
    for (taps, step), tiles in TILES.items():
        kernel, stride, pad = (taps, taps), (step, step), taps // 2
        for tile in 0, *tiles:
            stated = error(tile, taps_of(kernel, stride)) if tile else 0.0
            found: list[float] = []
            for channels in CHANNELS:
                pads = (pad, pad, pad, pad)
                op = Conv2d(1, 14, 14, channels, 32, kernel, stride, pads, tolerance=0.9)
                found.append(max(_error(op, tile, seed) for seed in range(SEEDS)))
            label = f"{tile}x{tile}" if tile else "none"
            numbers = "".join(f"{e:13.1e}" for e in found)
            print(f"{taps}x{taps} /{step} {label:<5}{numbers}{stated:11.0e}", flush=True)


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
