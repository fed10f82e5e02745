"""`tilewright tune`: search the fastest schedules for every operator of a network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewright.cli.console import console, counted, print_table, tell_cores, tell_damage
from tilewright.cli.options import Shapes, Tolerance
from tilewright.ops.conv2d import TOLERANCE

if TYPE_CHECKING:
    from rich.console import Console

    from tilewright.tuning.session import Session


def tune(
    model: Annotated[Path, typer.Argument(help="The network, an ONNX file.")],
    trials: Annotated[
        int | None, typer.Option(help="How many more candidates to measure.", show_default=False)
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="How long to tune, in seconds.", show_default=False)
    ] = None,
    db: Annotated[str, typer.Option(help="Where trials are kept.")] = "tuning.db",
    threads: Annotated[int, typer.Option(min=1, help="Threads that a measurement uses.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    batch: Annotated[int, typer.Option(min=1, help="Candidates measured between updates.")] = 32,
    tolerance: Tolerance = TOLERANCE,
    shape: Shapes = None,
) -> None:
    """Tune a network for this machine; the same command again goes on from there.

    Of --trials and --seconds what ends first counts; with neither it goes on until it stops paying:
    until further trials promise to win less than half a percent of the network's time.
    """
    import time

    from tilewright.cli.progress import Progress
    from tilewright.cli.shapes import parse_shapes
    from tilewright.graph.model import load_onnx
    from tilewright.measure.peak import peak
    from tilewright.records.store import Records
    from tilewright.tuning.result import Result
    from tilewright.tuning.tune import tune as search

    began = time.monotonic()
    _check(trials, seconds)
    out = console()
    network = load_onnx(model, parse_shapes(shape or []), tolerance=tolerance)
    found = counted(len(network.tasks(threads=threads)), "task")
    out.print(f"{model}: {found} to tune; the first measurements take a while", markup=False)
    tell_cores(out, threads)
    with Records(db if "://" in db else Path(db)) as records:
        limit = peak(threads=threads)
        stopped, left = False, seconds
        if seconds is not None:  # loading counts
            left = max(1e-3, seconds - (time.monotonic() - began))
        with Progress(out, trials, limit) as progress:
            try:
                result = search(
                    network, trials=trials, seconds=left, records=records, seed=seed,
                    batch=batch, peak=limit, watch=progress.watch, threads=threads,
                )  # fmt: skip
            except KeyboardInterrupt:
                stopped, result = True, Result(tuple(progress.sessions), records)
        sessions, rehearsal = result.sessions, result.rehearsal
        if seconds is not None and sessions and not (stopped or progress.done or trials == 0):
            out.print(
                f"the {seconds:g} s ran out before the first measurement; loading the network and "
                f"measuring the machine's peak took {seconds - (left or 0):.1f} s. Give more "
                "--seconds: a minute or two for a start.",
                markup=False, soft_wrap=True,
            )  # fmt: skip
        _tell(out, sessions, limit)
        if rehearsal:
            out.print(f"in the network: {rehearsal}", markup=False, soft_wrap=True)
        elif result.unrehearsed:
            out.print(f"in the network: {result.unrehearsed}", markup=False, soft_wrap=True)
        elif seconds is not None and progress.done and not stopped:
            out.print(
                "in the network: nothing was timed there, as there is nothing to choose or a tenth "
                "of --seconds is too little; tilewright.rehearse(...) takes its own time.",
                markup=False, soft_wrap=True,
            )  # fmt: skip
        if result.busy:
            out.print(result.busy, markup=False, soft_wrap=True)
    tell_damage(records)
    if stopped:
        out.print(
            f"stopped; everything measured is in {db}. Run the same command to go on from there.",
            markup=False, soft_wrap=True,
        )  # fmt: skip
        raise typer.Exit(130)


def _tell(out: Console, sessions: Sequence[Session], limit: float) -> None:
    """Print what was won, and what was not tried."""
    from tilewright.cli.gains import gains_table, untried

    if sessions:
        print_table(out, gains_table(sessions, limit))
        out.print(untried(sessions, limit), end="", markup=False, soft_wrap=True)


def _check(trials: int | None, seconds: float | None) -> None:
    from tilewright.errors import ArgumentError

    if trials is not None and trials < 0:
        raise ArgumentError(
            f"cannot tune with --trials {trials}: give a number that is not negative."
        )
    if seconds is not None and not 0 < seconds < float("inf"):
        raise ArgumentError(f"cannot tune with --seconds {seconds:g}: give a number above 0.")
