"""`tilewright profile`: where the time of a network goes, kernel by kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tilewright.cli.inputs import described, read_inputs
from tilewright.cli.options import Database, Inputs, Network, Shapes, Tolerance
from tilewright.ops.conv2d import TOLERANCE

if TYPE_CHECKING:
    from rich.console import Console

    from tilewright.graph.context import Profile, Timed


def profile(
    model: Network,
    db: Database = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of a call.")] = 1,
    repeats: Annotated[int, typer.Option(min=1, help="How often each kernel is timed.")] = 50,
    by_time: Annotated[
        bool, typer.Option("--by-time", help="Put what takes the most time first.")
    ] = False,
    tolerance: Tolerance = TOLERANCE,
    inputs: Inputs = None,
    shape: Shapes = None,
) -> None:
    """Time each kernel of a network: its speed, its traffic, its share of the whole.

    It runs on random arrays, unless --inputs gives others: normal numbers, booleans that mostly
    hold, integers from 0 to 7 (any, of 8 bits).
    """
    from tilewright.cli.console import console, tell_cores
    from tilewright.cli.network import compiled
    from tilewright.graph.random import random_inputs

    out = console()
    tell_cores(out, threads)
    module = compiled(out, model, db, threads, shape or [], tolerance)
    given = read_inputs(module.inputs, inputs) if inputs else random_inputs(module.inputs)
    out.print(described(module.inputs, inputs), markup=False, soft_wrap=True)
    print_profile(
        out, module.profile(*given.values(), threads=threads, repeats=repeats), threads,
        by_time=by_time,
    )  # fmt: skip
    out.print(
        f"memory of a call: {module.peak_bytes / 1e6:.2f} MB; "
        f"weights: {module.weight_bytes / 1e6:.2f} MB"
    )


def print_profile(out: Console, made: Profile, threads: int, *, by_time: bool = False) -> None:
    """Print a row for each kernel, and their sum against calls of the whole network."""
    from rich.table import Table
    from rich.text import Text

    from tilewright.cli.console import counted, print_table
    from tilewright.measure.peak import peak

    limit = peak(threads=threads)
    total = sum(timed.median for timed in made.calls)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("node", "work"):
        table.add_column(column, no_wrap=True)
    for column in ("min us", "median us", "share", "GFLOP/s", "of peak", "kB", "GB/s"):
        table.add_column(column, justify="right", no_wrap=True)
    order = sorted(made.calls, key=lambda timed: -timed.median) if by_time else made.calls
    for timed in order:
        assert timed.call is not None
        table.add_row(Text(timed.call.node), Text(timed.call.work), *_numbers(timed, total, limit))
    print_table(out, table)
    out.print(
        f"{counted(len(made.calls), 'kernel')}, {total * 1e3:.3f} ms in all; the whole network in "
        f"one call: {made.whole.median * 1e3:.3f} ms (min {made.whole.least * 1e3:.3f}); "
        f"peak: {limit / 1e9:.0f} GFLOP/s on {counted(threads, 'thread')}"
    )


def _numbers(timed: Timed, total: float, limit: float) -> list[str]:
    """Say the numbers of a row; speed is that of the least time, share that of the medians."""
    call, least = timed.call, max(timed.least, 1e-9)
    assert call is not None
    speed = call.flops / least
    return [
        f"{timed.least * 1e6:.1f}",
        f"{timed.median * 1e6:.1f}",
        f"{timed.median / max(total, 1e-9):.0%}",
        f"{speed / 1e9:.1f}" if call.flops else "-",
        f"{speed / limit:.0%}" if call.flops else "-",
        f"{call.nbytes / 1e3:.1f}",
        f"{call.nbytes / least / 1e9:.1f}",
    ]
