"""What README.md shows is true: its Python runs and prints what follows it, its commands exist."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest
from benchmarks.models.resnet18 import build, save
from typer.testing import CliRunner

import tilewright as tw
from tilewright.cli.main import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCK = re.compile(r"```python\n(?P<code>.*?)```(?:\n\n```text\n(?P<output>.*?)```)?", re.DOTALL)
QUICKER = ((r"trials=\d+", "trials=4"), ("224, 224", "32, 32"))  # fewer trials, a smaller network


def test_python_prints_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(build(image=32, width=8), Path("resnet18.onnx"))
    blocks = list(BLOCK.finditer(README))
    assert len(blocks) >= 6
    names: dict[str, Any] = {"__name__": "readme"}
    for block in blocks:
        code = block["code"]
        for pattern, quicker in QUICKER:
            code = re.sub(pattern, quicker, code)
        line = README.count("\n", 0, block.start()) + 2
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile("\n" * (line - 1) + code, "README.md", "exec"), names)
        assert printed.getvalue() == (block["output"] or ""), f"README.md:{line}"
        failed = names["result"].failures if "result" in names else {}
        assert not any(kind.startswith(("build", "verify")) for kind in failed), failed


def test_commands_exist_with_the_options_that_are_shown() -> None:
    shown = re.findall(r"^\$ tilewright (\w+)(.*)$", README, re.MULTILINE)
    assert {command for command, _ in shown} == {"tune", "bench", "show"}
    for command, rest in shown:
        described = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
        for option in re.findall(r"--\w+", rest):
            assert option in described, f"tilewright {command} has no {option}"


def test_every_operator_is_listed() -> None:
    assert not [name for name in tw.ops.__all__ if f"`{name}`" not in README]


def test_make_targets_and_files_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    text = README + (ROOT / "CONTRIBUTING.md").read_text()
    for target in set(re.findall(r"`make (\w+)`", text)):
        assert f"\n{target}:" in makefile
    for path in re.findall(r"\]\(([\w./-]+)\)", text):
        assert (ROOT / path).exists(), path
