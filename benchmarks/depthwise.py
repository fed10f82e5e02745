"""MobileNet v1's depthwise layers, and each with the pointwise layer after it, against the peers.

    python -m benchmarks.depthwise [--trials 128] [--db depthwise.db] [--only D1 S1]

D1 to D9 are the distinct depthwise layers at 224 (batch 1, 3x3, bias and ReLU); S1 to S9 are these
with the pointwise convolution that follows (bias and ReLU too), which ours fuses if that is faster
and a peer runs as one graph. Peers run in each layout of data that they have.
"""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks import tables
from benchmarks.side_by_side import options, run, speeds, tune_missing
from benchmarks.workloads import MOBILENET, task_of
from tilewright.records.store import Records

KINDS = {"D": "depthwise alone", "S": "depthwise, then pointwise"}


def main() -> None:
    parser = options(__doc__, trials=128, db="depthwise.db", work=MOBILENET)
    run("benchmarks.depthwise", parser, _tune, _measure, _show)


def _tune(args: argparse.Namespace) -> None:
    with Records(args.db) as records:
        tune_missing((task_of(MOBILENET[name]) for name in args.only), args.trials, records)


def _measure(args: argparse.Namespace) -> dict[str, Any]:
    return speeds(MOBILENET, args, layouts=True)


def _show(measured: dict[str, Any], threads: int) -> str:
    parts: list[str] = []
    for kind, said in KINDS.items():
        rows = {
            _label(name): row for name, row in measured["rows"].items() if name.startswith(kind)
        }
        if rows:
            title = f"## {said}, {threads} thread(s): median GFLOP/s (best), share of peak"
            parts.append(f"{title}\n\n{tables.speeds(rows)}")
    return "\n\n".join(parts)


def _label(name: str) -> str:
    """Return the work's name with what it is."""
    first, *rest = MOBILENET[name].layers  # type: ignore[union-attr]
    text = f"{name}: {first.size}x{first.size}x{first.ci} /{first.stride}"
    return text + "".join(f", -> {layer.co}" for layer in rest)


if __name__ == "__main__":
    main()
