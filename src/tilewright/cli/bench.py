"""`tilewright bench`: a tuned network timed side by side with another runtime."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tilewright.ops.conv2d import TOLERANCE

if TYPE_CHECKING:
    import numpy as np


def bench(
    model: Annotated[Path, typer.Argument(help="The network: an ONNX file, or a saved module.")],
    db: Annotated[
        str | None, typer.Option(help="Where trials are kept; tuning.db if it is there.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of either side.")] = 1,
    vs: Annotated[str, typer.Option(help="The other side: onnxruntime, or none.")] = "onnxruntime",
    rounds: Annotated[int, typer.Option(min=1, help="Rounds, each side in turn.")] = 30,
    tolerance: Annotated[
        float, typer.Option(help="Error a convolution may add, as a share of its largest result.")
    ] = TOLERANCE,
    shape: Annotated[
        list[str] | None, typer.Option(help="Shape of an open input: input=1x3x224x224.")
    ] = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Add the time of each kernel.")
    ] = False,
) -> None:
    """Run a network with the best schedules on record, and compare it in the same run."""
    from tilewright.cli.console import console
    from tilewright.cli.network import SAVED, compiled, random_inputs
    from tilewright.cli.profile import print_profile
    from tilewright.errors import ArgumentError

    if vs not in ("onnxruntime", "none"):
        raise ArgumentError(f"cannot compare with {vs!r}: name onnxruntime, or none.")
    if vs != "none" and model.suffix == SAVED:
        raise ArgumentError(
            f"cannot compare {model} with {vs}, which reads ONNX files: give --vs none."
        )
    out = console()
    module = compiled(out, model, db, threads, shape or [], tolerance)
    given = {v.name: a for v, a in zip(module.inputs, random_inputs(module), strict=True)}
    sides: dict[str, Callable[[], Any]] = {
        "tilewright": lambda: module(*given.values(), threads=threads)
    }
    if vs == "onnxruntime":
        sides[vs] = _onnxruntime(model, given, threads)
    if len(sides) > 1:
        difference = _difference(sides["tilewright"](), sides[vs]())
        out.print(f"largest difference between the results: {difference:.2g} of the largest value")
    _print(out, in_turn(sides, rounds), threads)
    if profile:
        print_profile(out, module.profile(*given.values(), threads=threads), threads)


_SETTLE = 0.1  # seconds before a side is timed: threads of the other one still spin for a while
_SAMPLES = 5  # timed runs of a side and round


def in_turn(sides: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Time the sides in turn, some runs each in every one of `rounds`, settled first; seconds."""
    import time

    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, run in sides.items():
            settled = time.monotonic() + _SETTLE
            while time.monotonic() < settled:
                run()
            for _ in range(_SAMPLES):
                begin = time.perf_counter_ns()
                run()
                times[name].append((time.perf_counter_ns() - begin) * 1e-9)
    return times


def _print(out: Any, times: dict[str, list[float]], threads: int) -> None:
    import statistics

    from rich.table import Table

    from tilewright.cli.console import counted

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in (counted(threads, "thread"), "min ms", "median ms", "median is"):
        table.add_column(column, justify="left" if column[0].isdigit() else "right")
    own = statistics.median(times["tilewright"])
    for name, seconds in times.items():
        middle = statistics.median(seconds)
        ratio = "" if name == "tilewright" else f"{middle / own:.2f} x tilewright's"
        table.add_row(name, f"{min(seconds) * 1e3:.3f}", f"{middle * 1e3:.3f}", ratio)
    out.print(table)


def _onnxruntime(path: Path, given: dict[str, np.ndarray], threads: int) -> Callable[[], Any]:
    from tilewright.errors import ArgumentError

    try:
        import onnxruntime
    except ImportError:
        raise ArgumentError(
            "cannot compare with onnxruntime: it is not installed. Run with --vs none, or install "
            "it: pip install '.[bench]' in a checkout of tilewright."
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        os.fspath(path), options, providers=["CPUExecutionProvider"]
    )
    return lambda: session.run(None, given)


def _difference(own: Any, other: Any) -> float:
    import numpy as np

    own = own if isinstance(own, tuple) else (own,)
    return max(
        float(np.max(np.abs(a - b), initial=0) / max(np.max(np.abs(b), initial=0), 1e-30))
        for a, b in zip(own, other, strict=True)
    )
