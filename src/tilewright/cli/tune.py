"""`tilewright tune`: search the fastest schedules for every operator of a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def tune(
    model: Annotated[Path, typer.Argument(help="The network, an ONNX file.")],
    trials: Annotated[int, typer.Option(help="How many candidates to measure in all.")] = 1000,
    db: Annotated[str, typer.Option(help="Where trials are kept.")] = "tuning.db",
    threads: Annotated[int, typer.Option(min=1, help="Threads that a measurement uses.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search.")] = 0,
    batch: Annotated[int, typer.Option(min=1, help="Candidates measured between updates.")] = 32,
    shape: Annotated[
        list[str] | None, typer.Option(help="Shape of an open input: input=1x3x224x224.")
    ] = None,
) -> None:
    """Tune a network for this machine; the same command again goes on where it stopped."""
    from tilewright.cli.console import console
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
    network = load_onnx(model, parse_shapes(shape or []))
    tasks = network.tasks(threads=threads)
    limit = peak(threads=threads)
    with Records(db if "://" in db else Path(db)) as records:
        for key in {task.where for task in tasks}:
            records.set_peak(key, limit)
        stopped = False
        with Progress(out, trials, limit) as progress:
            try:
                search(
                    tasks, trials=trials, records=records, seed=seed, batch=batch, peak=limit,
                    watch=progress.watch,
                )  # fmt: skip
            except KeyboardInterrupt:
                stopped = True
        keys = {task.key for task in tasks}
        out.print(task_table([t for t in records.tasks() if t.key in keys], limit))
    if stopped:
        out.print(f"stopped; everything measured is in {db}. Run the same command to go on.")
        raise typer.Exit(130)
