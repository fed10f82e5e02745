"""`tilewright tune`: search the fastest schedules for every operator of a network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli.console import console, counted, tell_damage
from tilewright.ops.conv2d import TOLERANCE


def tune(
    model: Annotated[Path, typer.Argument(help="The network, an ONNX file.")],
    trials: Annotated[int, typer.Option(help="How many more candidates to measure.")] = 1000,
    db: Annotated[str, typer.Option(help="Where trials are kept.")] = "tuning.db",
    threads: Annotated[int, typer.Option(min=1, help="Threads that a measurement uses.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    batch: Annotated[int, typer.Option(min=1, help="Candidates measured between updates.")] = 32,
    tolerance: Annotated[
        float, typer.Option(help="Error a convolution may add, as a share of its largest result.")
    ] = TOLERANCE,
    shape: Annotated[
        list[str] | None, typer.Option(help="Shape of an open input: input=1x3x224x224.")
    ] = None,
) -> None:
    """Tune a network for this machine; the same command again measures as many more."""
    from tilewright.cli.progress import Progress
    from tilewright.cli.shapes import parse_shapes
    from tilewright.cli.show import task_table
    from tilewright.errors import ArgumentError
    from tilewright.graph.model import load_onnx
    from tilewright.measure.peak import peak
    from tilewright.records.store import Records
    from tilewright.tuning.tune import tune as search

    if trials < 0:
        raise ArgumentError(
            f"cannot tune with --trials {trials}: give a number that is not negative."
        )
    out = console()
    network = load_onnx(model, parse_shapes(shape or []), tolerance=tolerance)
    tasks = network.tasks(threads=threads)
    limit = peak(threads=threads)
    with Records(db if "://" in db else Path(db)) as records:
        stopped = False
        with Progress(out, trials, limit) as progress:
            try:
                search(
                    network, trials=trials, records=records, seed=seed, batch=batch, peak=limit,
                    watch=progress.watch, threads=threads,
                )  # fmt: skip
            except KeyboardInterrupt:
                stopped = True
        keys = {(task.key, task.where) for task in tasks}
        known = [t for t in records.tasks() if (t.key, t.target) in keys]
        out.print(task_table(known, limit))
        out.print(
            untried([t.name for t in known if t.trials == 0]), end="", markup=False, soft_wrap=True
        )
    tell_damage(records)
    if stopped:
        out.print(
            f"stopped; everything measured is in {db}. Run the same command to go on: "
            f"it measures {trials} more.",
            markup=False,
        )
        raise typer.Exit(130)


def untried(names: Sequence[str]) -> str:
    """Say which tasks got no trial, and how many more trials would reach them all."""
    if not names:
        return ""
    return (
        f"{counted(len(names), 'task')} got no trial and will run untuned: {'; '.join(names)}\n"
        f"--trials {len(names)} more would reach all.\n"
    )
