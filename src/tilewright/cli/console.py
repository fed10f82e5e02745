"""Where the command line prints to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from tilewright.records.store import Records

# Wide enough for a row of any table, where there is no terminal to fit.
_FILE_WIDTH = 160


def console() -> Console:
    """Return a console on standard output, with lines that do not wrap in files and pipes."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _FILE_WIDTH
    return console


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


def counted(count: int, what: str) -> str:
    """Return a number of things: "1 operator", "2 operators"."""
    return f"{count} {what}" + ("" if count == 1 else "s")
