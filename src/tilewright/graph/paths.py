"""Paths that a user gives for files to be written or read."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from tilewright.errors import ArgumentError


def path_of(what: str, given: Any) -> Path:
    """Return a path; raise ArgumentError for what names no file."""
    if not isinstance(given, str | PathLike) or isinstance(given, bytes):
        raise ArgumentError(
            f"cannot {what} {given!r:.60} ({type(given).__name__}): give the path of a file, such "
            "as 'net.twm'."
        )
    path = Path(given)
    if not path.name or "\0" in str(path):
        raise ArgumentError(f"cannot {what} {str(given)!r:.60}: it names no file; give a path.")
    return path
