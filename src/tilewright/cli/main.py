"""The command `tilewright`: its subcommands, and how errors reach the user."""

from __future__ import annotations

import sys

import typer

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


@app.callback()
def tilewright() -> None:
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
