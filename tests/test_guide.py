"""The researcher's guide is true: its files are as shown, its Python prints what follows it."""

from __future__ import annotations

import contextlib
import csv
import io
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from docs.guide import suites
from docs.guide.gaussian import GaussianProcess
from docs.guide.suites import *  # noqa: F403 the suites that the guide shows run here

from tilewright.errors import ArgumentError

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "guide"
TEXT = (GUIDE / "README.md").read_text()
BLOCK = re.compile(
    r"^```python(?: (?P<file>\S+))?\n(?P<code>.*?)^```$(?:\n\n^```text\n(?P<output>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)


def test_python_prints_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"__name__": "guide"}
    for block in BLOCK.finditer(TEXT):
        if block["file"]:
            continue
        line = TEXT.count("\n", 0, block.start()) + 2
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile("\n" * (line - 1) + block["code"], "README.md", "exec"), names)
        assert printed.getvalue() == (block["output"] or ""), f"docs/guide/README.md:{line}"


def test_files_are_as_they_are_shown() -> None:
    shown = {block["file"]: block["code"] for block in BLOCK.finditer(TEXT) if block["file"]}
    assert set(shown) == {path.name for path in GUIDE.glob("*.py")}
    for name, code in shown.items():
        assert code == (GUIDE / name).read_text(), f"docs/guide/{name} and README.md differ"


def test_every_part_is_held_to_a_suite() -> None:
    tested = {name for name in vars(suites) if name.startswith("Test")}
    assert tested
    assert tested <= set(globals())


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([\w./-]+)(#[\w-]+)?\)", TEXT)
    for path, section in links:
        assert (GUIDE / path).exists(), path
        titles = re.findall(r"^#+ (.*)$", (GUIDE / path).read_text(), re.MULTILINE)
        assert not section or section[1:] in {
            re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles
        }


def test_the_comparison_is_one_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (command,) = re.findall(r"python -m (docs\.guide\.compare) --seeds \d+$", TEXT, re.MULTILINE)
    options = ["--on", "gemm_RTX_3090", "--seeds", "1", "--trials", "24", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [command, *options])
    with contextlib.redirect_stdout(io.StringIO()):
        subjects = runpy.run_module(command, run_name="__main__")["SUBJECTS"]
    with (tmp_path / "curves.csv").open() as file:
        assert {line["subject"] for line in csv.DictReader(file)} == set(subjects)


@pytest.mark.parametrize(
    "options", [{"noise": 0.0}, {"noise": -1.0}, {"noise": float("nan")}, {"rows": 0}]
)
def test_settings_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=r"^GaussianProcess\(noise=.*: noise is more than 0"):
        GaussianProcess(**options)
