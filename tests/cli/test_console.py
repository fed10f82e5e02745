"""Tables on terminals of any width, and in files."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
from rich.console import Console

from tilewright.cli.console import console, print_table
from tilewright.cli.show import failure_table, task_table
from tilewright.records.summary import FailureClass, TaskSummary

LONG = "concat " + " + ".join(f"1x56x56x{n}" for n in range(40))
FAILED = FailureClass("build", "timeout", 12, "no answer within 10 s")
TASKS = [
    TaskSummary(LONG, "k", "t", 1e9, 12345, (FAILED,), 1e-3),
    TaskSummary("relu 8", "l", "t", 1e9, 7, (), 2e-3),
]
NUMBERS = ("12345", "12", "1", "1000.0", "50%")


def printed(width: int) -> list[str]:
    out = io.StringIO()
    terminal = Console(file=out, width=width, force_terminal=True, color_system=None)
    print_table(terminal, task_table(TASKS, 2e12))
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("width", [10, 60, 80, 100, 160, 1000])
def test_names_are_shortened_and_numbers_never(width: int):
    text = "\n".join(printed(width))
    for number in NUMBERS:
        assert f" {number} " in text
    assert "relu 8" in text
    assert (LONG in text) == (width == 1000)
    assert width < 80 or max(map(len, printed(width))) <= width


def test_nothing_wraps_in_a_file(capsys: pytest.CaptureFixture[str]):
    print_table(console(), task_table(TASKS, 2e12))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith(LONG[:99] + "…  ")
    assert "12 build timeout" in lines[1]
    console().print("word " * 200)
    assert len(capsys.readouterr().out.splitlines()) == 1
    message = FailureClass("build", "timeout", 12, "why " * 100)
    failed = [TaskSummary("relu 8", "k", "t", 1e9, 1, (message,), None)]
    print_table(console(), failure_table(failed))
    assert "why " * 99 + "why" in capsys.readouterr().out


def test_columns_says_how_wide_a_file_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "90")
    print_table(console(), task_table(TASKS, 2e12))
    assert 80 < max(map(len, capsys.readouterr().out.splitlines())) <= 90


def test_the_package_is_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("tilewright ")
