"""The command line, one file a subcommand."""

from __future__ import annotations


def run() -> None:
    """Run the command line; Ctrl-C ends it without a traceback while it is still loading, too."""
    try:
        from tilewright.cli.main import run as start

        start()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
