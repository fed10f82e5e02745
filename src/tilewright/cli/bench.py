"""`tilewright bench`: a tuned network timed side by side with another runtime."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from tilewright import dtypes
from tilewright.cli.compare import Difference, differences
from tilewright.cli.inputs import described, read_inputs
from tilewright.cli.options import Database, Inputs, Network, Shapes, Tolerance
from tilewright.errors import ArgumentError
from tilewright.ops.conv2d import TOLERANCE

if TYPE_CHECKING:
    import numpy as np
    from rich.console import Console

    from tilewright.graph.ir import Value


def bench(
    model: Network,
    db: Database = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of either side.")] = 1,
    vs: Annotated[str, typer.Option(help="The other side: onnxruntime, or none.")] = "onnxruntime",
    rounds: Annotated[int, typer.Option(min=1, help="Rounds, each side in turn.")] = 30,
    tolerance: Tolerance = TOLERANCE,
    inputs: Inputs = None,
    shape: Shapes = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Add the time of each kernel.")
    ] = False,
) -> None:
    """Run a network with the best schedules on record, and compare it in the same run.

    It runs on random arrays, unless --inputs gives others: normal numbers, booleans that mostly
    hold, integers from 0 to 7 (any, of 8 bits), or smaller where the other side refuses those. The
    exit code is 1 if results differ by more than 0.001 of the largest value (float16: 0.01).
    """
    from tilewright.cli.console import console, tell_cores
    from tilewright.cli.network import SAVED, compiled
    from tilewright.cli.profile import print_profile
    from tilewright.graph.random import random_inputs

    if vs not in ("onnxruntime", "none"):
        raise ArgumentError(f"cannot compare with {vs!r}: name onnxruntime, or none.")
    if vs != "none" and model.suffix == SAVED:
        raise ArgumentError(
            f"cannot compare {model} with {vs}, which reads ONNX files: give --vs none."
        )
    out = console()
    tell_cores(out, threads)
    module = compiled(out, model, db, threads, shape or [], tolerance)
    other = _onnxruntime(model, threads) if vs == "onnxruntime" else None
    values, most = module.inputs, None
    if inputs is not None:
        given = read_inputs(values, inputs)
    elif other is None:
        given = random_inputs(values)
    else:
        given, most = _accepted(other, values)
    out.print(described(values, inputs, most), markup=False, soft_wrap=True)
    sides: dict[str, Callable[[], Any]] = {
        "tilewright": lambda: module(*given.values(), threads=threads)
    }
    agree = True
    if other is not None:
        sides[vs] = lambda: other(given)
        found = differences([v.name for v in module.outputs], sides["tilewright"](), sides[vs]())
        agree = all(each.agrees for each in found)
        _print_differences(out, found)
    _print(out, in_turn(sides, rounds), threads)
    if profile:
        print_profile(out, module.profile(*given.values(), threads=threads), threads)
    if not agree:
        raise typer.Exit(1)


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

    from tilewright.cli.console import counted, print_table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in (counted(threads, "thread"), "min ms", "median ms", "median is"):
        table.add_column(column, justify="left" if column[0].isdigit() else "right")
    own = statistics.median(times["tilewright"])
    for name, seconds in times.items():
        middle = statistics.median(seconds)
        ratio = "" if name == "tilewright" else f"{middle / own:.2f} x tilewright's"
        table.add_row(name, f"{min(seconds) * 1e3:.3f}", f"{middle * 1e3:.3f}", ratio)
    print_table(out, table)


Run: TypeAlias = "Callable[[dict[str, np.ndarray]], list[Any]]"


def _accepted(run: Run, values: Sequence[Value]) -> tuple[dict[str, np.ndarray], int]:
    """Return random arrays that the other side accepts, and the most that integers among them are.

    Indices may reach beyond what they point into: smaller ones are tried then.
    """
    from tilewright.graph.random import MOST, random_inputs

    for most in (MOST, 1, 0):
        given = random_inputs(values, most)
        try:
            run(given)
        except ArgumentError:
            if not most or all(dtypes.is_float(v.dtype) for v in values):
                raise
        else:
            return given, most
    raise AssertionError


def _onnxruntime(path: Path, threads: int) -> Run:

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
    options.log_severity_level = 4  # what it refuses is told here
    try:
        session = onnxruntime.InferenceSession(
            os.fspath(path), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:
        raise ArgumentError(
            f"cannot compare with onnxruntime, which does not load {path}: {error}. Give --vs none."
        ) from None

    def run(given: dict[str, np.ndarray]) -> list[Any]:
        try:
            return list(session.run(None, given))
        except Exception as error:
            raise ArgumentError(
                f"onnxruntime cannot run {path} on these inputs: {error}. Give others by --inputs, "
                "or --vs none."
            ) from None

    return run


def _print_differences(out: Console, found: Sequence[Difference]) -> None:
    """Print how far apart the largest are, and what else there is to say of an output."""
    worst = max(found, key=lambda each: each.share / each.alike)
    out.print(
        f"largest difference between the results: {worst.share:.2g} of the largest value "
        f"(up to {worst.alike:g} they agree)"
    )
    for each in found:
        if each.both or not each.agrees:
            out.print(str(each), markup=False, soft_wrap=True)
    if not all(each.agrees for each in found):
        out.print("the results do not agree: the times below are of different work.")
