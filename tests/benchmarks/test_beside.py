"""The benchmark beside a busy process: it is busy, and it ends."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from benchmarks import beside, timing


def test_a_process_is_busy_for_the_block_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    started = list[timing.subprocess.Popen[bytes]]()

    class Kept(timing.subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[arg-type]
            started.append(self)

    monkeypatch.setattr(timing.subprocess, "Popen", Kept)
    with timing.busy(0):
        time.sleep(0.3)
        (other,) = started
        used = Path(f"/proc/{other.pid}/schedstat").read_text().split()[0]
        assert int(used) > 1e7
    assert other.poll() is not None


def test_each_row_has_what_its_runs_took(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["beside", "--networks", "dqn", "--seconds", "0.05"])
    beside.main()
    rows = capsys.readouterr().out.splitlines()[2:]
    assert len(rows) == 4
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[0] == "dqn"
        least, middle = float(cells[4]), float(cells[5])
        assert 0 < least <= middle
