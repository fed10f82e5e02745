"""What benchmarks print takes its place in RESULTS.md, and nothing else changes."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
from benchmarks import report

FILE = Path(report.__file__).with_name("RESULTS.md")
HAND = """# Rows

Before.

<!-- benchmarks.rows -->

old

<!-- /benchmarks.rows -->

After, `by hand`.
"""


def test_examples() -> None:
    assert doctest.testmod(report).failed == 0


def test_only_what_is_between_the_marks_changes() -> None:
    once = report.replaced(HAND, "rows", "| a |\n", "Rows")
    assert once == HAND.replace("old", "| a |")
    assert report.replaced(once, "rows", "old", "Rows") == HAND


def test_a_new_section() -> None:
    text = report.replaced(HAND, "levels", "made", "Levels")
    assert text.startswith(HAND)
    assert report.replaced(text, "levels", "again", "Levels") == text.replace("made", "again")
    assert report.replaced("", "rows", "x", "Rows").startswith("# Rows: ")


@pytest.mark.parametrize(
    "text",
    [
        "<!-- benchmarks.rows -->",
        "<!-- /benchmarks.rows -->",
        "<!-- /benchmarks.rows --> <!-- benchmarks.rows -->",
        HAND + HAND,
    ],
)
def test_marks_that_do_not_match(text: str) -> None:
    with pytest.raises(ValueError, match="should each stand there once"):
        report.replaced(text, "rows", "x", "Rows")


def test_the_results_have_a_place_for_every_benchmark() -> None:
    text = FILE.read_text()
    for name in report.SECTIONS:
        assert FILE.with_name(f"{name}.py").exists()
        assert report.replaced(text, name, "new", "").count("# ") <= text.count("# ")


def test_what_fails_leaves_its_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "r.md"
    out.write_text(HAND)
    printed = {"rows": None, "levels": "made"}
    asked: list[list[str]] = []

    def run(name: str, options: list[str]) -> str | None:
        asked.append(options)
        return printed[name]

    monkeypatch.setattr(report, "_run", run)
    with pytest.raises(SystemExit, match="rows"):
        report.main(["rows", "levels", "--out", str(out), "--", "--trials", "8"])
    assert out.read_text().startswith(HAND)
    assert "made" in out.read_text()
    assert asked == [["--trials", "8"]] * 2


def test_an_unknown_benchmark_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        report.main(["row"])
    assert "no benchmark row; there are operators" in capsys.readouterr().err


def test_a_run_returns_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    made = report._run("report", ["--help"])
    assert made is not None
    assert "RESULTS.md" in made
    assert capsys.readouterr().out == made
    assert report._run("report", ["nothing-of-this-name"]) is None
