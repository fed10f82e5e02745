"""What README.md and its pages show is true: Python prints what follows it, commands exist."""

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
PAGES = ("README.md", "docs/expressions.md", "docs/tuning.md")  # each runs by itself, from its top
TEXTS = {page: (ROOT / page).read_text() for page in PAGES}
LINKING = (*PAGES, "CONTRIBUTING.md", "docs/modules.md", "docs/onnx.md", "docs/pytorch.md")
BLOCK = re.compile(r"```python\n(?P<code>.*?)```(?:\n\n```text\n(?P<output>.*?)```)?", re.DOTALL)
QUICKER = ((r"trials=\d+", "trials=4"), ("224, 224", "32, 32"))  # fewer trials, a smaller network


@pytest.mark.parametrize("page", PAGES)
def test_python_prints_what_is_shown(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save(build(image=32, width=8), Path("model.onnx"))
    blocks = list(BLOCK.finditer(TEXTS[page]))
    assert len(blocks) >= 2
    names: dict[str, Any] = {"__name__": "readme"}
    for block in blocks:
        code = block["code"]
        for pattern, quicker in QUICKER:
            code = re.sub(pattern, quicker, code)
        line = TEXTS[page].count("\n", 0, block.start()) + 2
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile("\n" * (line - 1) + code, page, "exec"), names)
        assert printed.getvalue() == (block["output"] or ""), f"{page}:{line}"
        failed = names["result"].failures if "result" in names else {}
        assert not any(kind.startswith(("build", "verify")) for kind in failed), failed


def test_commands_exist_with_the_options_that_are_shown() -> None:
    shown = re.findall(r"^\$ tilewright (\w+)(.*)$", "".join(TEXTS.values()), re.MULTILINE)
    assert {command for command, _ in shown} == {"tune", "bench", "show"}
    listed = re.findall(r"`(tune|bench|show|profile) (--[^`]*)`", TEXTS["docs/tuning.md"])
    for command, rest in shown + listed:
        described = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
        for option in re.findall(r"--\w[\w-]*", rest):
            assert option in described, f"tilewright {command} has no {option}"


def test_every_operator_is_listed() -> None:
    page = TEXTS["docs/expressions.md"]
    assert not [name for name in tw.ops.__all__ if f"`{name}`" not in page]


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    text = TEXTS["README.md"] + (ROOT / "CONTRIBUTING.md").read_text()
    for target in set(re.findall(r"`make (\w+)`", text)):
        assert f"\n{target}:" in makefile


@pytest.mark.parametrize("page", LINKING)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    for link, section in re.findall(r"\]\(([\w./-]+)(?:#([\w-]+))?\)", path.read_text()):
        assert (path.parent / link).exists(), link
        if section:
            titles = re.findall(r"^#+ (.*)$", (path.parent / link).read_text(), re.MULTILINE)
            plain = {re.sub(r"[^\w -]", "", t.lower()).replace(" ", "-") for t in titles}
            assert section in plain, f"{link}#{section}"
