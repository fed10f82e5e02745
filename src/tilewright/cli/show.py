"""`tilewright show`: what a database of records holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from tilewright.records.summary import FailureClass, TaskSummary


def show(
    db: Annotated[
        str, typer.Option(help="The database to read: a path or an SQLAlchemy URL.")
    ] = "tuning.db",
    task: Annotated[str, typer.Option(help="Only tasks whose name contains this text.")] = "",
    peak: Annotated[
        float | None, typer.Option(min=0.001, help="The machine's peak in GFLOP/s.")
    ] = None,
    failures: Annotated[
        bool, typer.Option("--failures", help="Add each class of failure, with its first message.")
    ] = False,
) -> None:
    """Show the tasks in a database: trials, failures by class, and the best found."""
    from tilewright.cli.console import console, counted, print_table, tell_damage
    from tilewright.errors import ArgumentError
    from tilewright.records.store import Records

    out = console()
    with Records(db if "://" in db else Path(db), create=False) as records:
        known = records.tasks()
        tasks = [each for each in known if task in each.name]
        peaks = {each.target: records.peak(each.target) for each in tasks}
    tell_damage(records)
    if peak is not None:
        if not math.isfinite(peak):
            raise ArgumentError(f"--peak {peak} is no speed: give the machine's peak in GFLOP/s.")
        peaks = dict.fromkeys(peaks, peak * 1e9)
    if not tasks and known:
        shown = f"{counted(len(known), 'task')}, such as {known[0].name!r}"
        raise ArgumentError(
            f"{db} holds no task whose name contains {task!r}; it holds {shown}. Leave out --task "
            "to see all."
        )
    if not tasks:
        out.print(f"{db} holds no tasks.", markup=False)
        return
    for target in sorted(peaks):
        out.print(f"target {target}", markup=False)
        here = [each for each in tasks if each.target == target]
        print_table(out, task_table(here, peaks[target]))
    if failures and any(each.failures for each in tasks):
        print_table(out, failure_table(tasks))
    elif failures:
        out.print("no candidate failed.")


def task_table(tasks: Sequence[TaskSummary], peak: float | None) -> Table:
    """Lay out tasks of one target; `peak` is its peak in operations a second, if known."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("task", no_wrap=True)
    for column in ("trials", "failed", "best ms", "GFLOP/s", "of peak"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("failures")
    for task in tasks:
        speed = task.gflops
        table.add_row(
            Text(task.name),
            str(task.trials),
            str(task.failed),
            "-" if task.best_seconds is None else f"{task.best_seconds * 1e3:.4g}",
            "-" if speed is None else f"{speed:.1f}",
            "-" if speed is None or peak is None else f"{speed * 1e9 / peak:.0%}",
            Text(failure_counts(task.failures)),
        )
    return table


def failure_counts(failures: Sequence[FailureClass]) -> str:
    """Say how many candidates failed of each class: "12 build timeout, 3 run crash"."""
    return ", ".join(f"{each.count} {each.stage} {each.reason}" for each in failures)


def failure_table(tasks: Sequence[TaskSummary]) -> Table:
    """Lay out the classes of failure of each task with the first message of each."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("task", no_wrap=True)
    table.add_column("failures", no_wrap=True)
    table.add_column("first message")
    for task in tasks:
        for each in task.failures:
            table.add_row(Text(task.name), failure_counts([each]), Text(each.message))
    return table
