"""The command `tilewright`: its subcommands, and how errors reach the user."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Annotated, NoReturn

import typer

from tilewright.cli.bench import bench
from tilewright.cli.export import export
from tilewright.cli.profile import profile
from tilewright.cli.show import show
from tilewright.cli.tune import tune
from tilewright.errors import TilewrightError

app = typer.Typer(
    help="Learn to optimize tensor programs: tune models for this machine.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    from importlib.metadata import version

    if wanted:
        print(f"tilewright {version('tilewright')}")
        raise typer.Exit


@app.callback()
def tilewright(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Learn to optimize tensor programs: tune models for this machine."""


app.command()(tune)
app.command()(bench)
app.command()(export)
app.command()(profile)
app.command()(show)


def run() -> None:
    """Run the command line; a user's mistake is a message on standard error and exit code 2."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except TilewrightError as error:
        _end(str(error))
    except MemoryError as error:
        _end(f"the memory of this machine does not suffice: {error}")
    except OSError as error:
        with suppress(OSError, ValueError):  # what is still to be written cannot be
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        what = f"use {error.filename}" if error.filename else "write the output"
        _end(f"cannot {what}: {error.strerror}.")


def _end(message: str) -> NoReturn:
    print(f"tilewright: {message}", file=sys.stderr)
    raise SystemExit(2) from None
