"""The command `tilewright`: its subcommands, and how errors reach the user."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tilewright import __version__ as version
from tilewright.cli.bench import bench
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
    if wanted:
        print(f"tilewright {version}")
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
app.command()(show)


def run() -> None:
    """Run the command line; a user's mistake is a message on standard error and exit code 2."""
    try:
        app()
    except TilewrightError as error:
        print(f"tilewright: {error}", file=sys.stderr)
        raise SystemExit(2) from None
