"""Files are whole or not there; what a killed writer left goes, what another still writes stays."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilewright.graph import whole
from tilewright.graph.whole import write


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_last_writer_of_several_at_once_is_read(tmp_path: Path) -> None:
    path = tmp_path / "net.twm"

    def pieces() -> Iterator[bytes]:
        yield b"the first to begin "
        write(path, [b"all of it ", b"at once"])
        assert path.read_bytes() == b"all of it at once"
        assert len(names(tmp_path)) == 2  # its own is still being written
        yield b"and the last to end"

    write(path, pieces())
    assert path.read_bytes() == b"the first to begin and the last to end"
    assert names(tmp_path) == ["net.twm"]


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    others = ["net.twm.part", "net.twm.0123456.part", "other.twm.01234567.part", "netxtwm.0.part"]
    for name in ["net.twm.01234567.part", "net.twm.89abcdef.part", *others]:
        (tmp_path / name).write_bytes(b"half of it")
    (tmp_path / "net.twm.00000000.part").mkdir()
    (tmp_path / "net.twm.00000001.part").symlink_to(tmp_path / others[0])
    os.mkfifo(tmp_path / "net.twm.00000002.part")
    write(tmp_path / "net.twm", [b"all of it"])
    kept = ["net.twm.00000000.part", "net.twm.00000001.part", "net.twm", *others]
    assert set(names(tmp_path)) - {"net.twm.00000002.part"} == set(kept)


def test_a_file_removed_before_it_is_locked_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by another that cleans up at that very moment."""
    lock, removed = whole.fcntl.flock, list[Path]()

    def late(file: int, how: int) -> None:
        if not removed:
            removed.extend(tmp_path.iterdir())
            removed[0].unlink()
        lock(file, how)

    monkeypatch.setattr(whole.fcntl, "flock", late)
    write(tmp_path / "net.twm", [b"all of it"])
    assert len(removed) == 1
    assert names(tmp_path) == ["net.twm"]


def test_nothing_is_left_of_a_write_that_fails(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"half of it"
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write(tmp_path / "net.twm", pieces())
    assert names(tmp_path) == []
