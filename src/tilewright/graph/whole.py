"""A file that is written whole or not at all, and what became of one whose writer was killed."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from io import BufferedWriter
from pathlib import Path
from uuid import uuid4


def write(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Write pieces to a file beside `path`, and give it that name; raise OSError if that fails.

    Others may do so at once. A file that is being written is locked, so those that are not are of
    writers that were killed, and are removed.
    """
    _clean(path)
    file, beside = _begun(path)
    try:
        with file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
            beside.replace(path)
        _settle(path.parent)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _begun(path: Path) -> tuple[BufferedWriter, Path]:
    """Return a new file that is locked, and its path."""
    while True:
        beside = path.with_name(f"{path.name}.{uuid4().hex[:8]}.part")
        file = open(beside, "xb")  # noqa: SIM115 (closed by who writes it)
        with suppress(OSError):  # a file system without locks: nothing is removed there, either
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:  # else it was removed before it was locked
            return file, beside
        file.close()


def _clean(path: Path) -> None:
    """Remove what writers of `path` left behind that no longer run."""
    ours = re.compile(re.escape(path.name) + r"\.[0-9a-f]{8}\.part")
    with suppress(OSError):
        for name in os.listdir(path.parent):
            if ours.fullmatch(name):
                _remove(path.with_name(name))


def _remove(beside: Path) -> None:
    # Not what a link points to, and no waiting for a pipe.
    ways = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    with suppress(OSError), open(beside, "rb", opener=lambda at, _: os.open(at, ways)) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        beside.unlink()


def _settle(folder: Path) -> None:
    """Have the new name of a file outlive a loss of power, where a folder can be told so."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
