"""What the commands of the experiments share: how options are read, and a table is kept."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path


def options(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser of options that shows a module's docstring as it is."""
    return argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def count(said: str) -> int:
    """Return a whole number of at least 1, for argparse."""
    if (number := int(said)) < 1:
        raise ValueError
    return number


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def keep(path: Path, text: str) -> None:
    """Write a text to a file, and print it."""
    path.write_text(text + "\n")
    print(text)
