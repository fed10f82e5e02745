"""Where the command line prints to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from tilewright.records.store import Records

_ENDLESS = 1 << 20  # the width where there is no terminal to fit: nothing wraps
_LONGEST = 100  # characters of a name in a file or pipe
_SHORTEST = 16  # of one on a terminal that is too narrow for a table
_GAP = 2  # spaces between columns


def console() -> Console:
    """Return a console on standard output, with lines that do not wrap in files and pipes.

    COLUMNS says how wide either is.
    """
    import os

    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = _ENDLESS
    return console


def print_table(out: Console, table: Table) -> None:
    """Print a table whose numbers, to the right of their columns, are whole on any terminal.

    The text to the left is shortened if need be, names to 100 characters where nothing bounds them.
    """
    wide = out.options.update(width=_ENDLESS)
    widths = [
        max(out.measure(cell, options=wide).maximum for cell in (column.header, *column.cells))
        for column in table.columns
    ]
    text = [i for i, column in enumerate(table.columns) if column.justify != "right"]
    bounded = out.width < _ENDLESS
    room = out.width - (sum(widths) - sum(widths[i] for i in text)) - _GAP * (len(widths) - 1)
    most = max(widths)
    while bounded and most > _SHORTEST and sum(min(widths[i], most) for i in text) > room:
        most -= 1
    for i in text:
        column = table.columns[i]
        column.overflow = "ellipsis" if column.no_wrap else "fold"
        column.max_width = most if bounded else _LONGEST if column.no_wrap else None
        widths[i] = min(widths[i], column.max_width or widths[i])
    table.width = sum(widths) + _GAP * (len(widths) - 1)
    out.print(table, crop=False)


def tell_damage(records: Records) -> None:
    """Say on standard error how many rows of a database were left out, if any, and why the first.

    What came of the others stands.
    """
    if records.damaged:
        import sys

        where, why = next(iter(records.damaged.items()))
        print(
            f"tilewright: left out {counted(len(records.damaged), 'damaged row')} of "
            f"{records.url.database}; {where}: {why}.",
            file=sys.stderr,
        )


def tell_cores(out: Console, threads: int) -> None:
    """Say so where threads outnumber the cores they may use: they wait, and times mean little."""
    import os

    cores = len(os.sched_getaffinity(0))
    if threads > cores:
        fewer = f"{cores}, or fewer" if cores > 1 else "1"
        out.print(
            f"{threads} threads on {counted(cores, 'core')} wait for each other's turns, which "
            f"takes long and says little about the code: give --threads {fewer}.",
            markup=False, soft_wrap=True,
        )  # fmt: skip


def counted(count: int, what: str) -> str:
    """Return a number of things: "1 operator", "2 operators"."""
    return f"{count} {what}" + ("" if count == 1 else "s")
