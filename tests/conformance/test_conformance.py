"""The backend tests of the `onnx` package: none goes wrong, and what passed once still passes."""

from __future__ import annotations

import os

import onnx
import pytest
from tests.conformance import document, pool, record, report
from tests.conformance.cases import Case, load
from tests.conformance.check import GOOD, Outcome, Verdict

EVERY = 1  # check only each n-th case, should all of them take more than 100 seconds on two cores


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return pool.run(load()[::EVERY], min(4, os.cpu_count() or 1))


def test_none_is_wrong_fails_or_crashes(outcomes: list[Outcome]) -> None:
    bad = report.broken(outcomes)
    assert not bad, f"\n{bad}\nOne alone: python -m tests.conformance --filter NAME"


def test_none_that_passed_is_lost(outcomes: list[Outcome]) -> None:
    recorded = record.read()[1]
    lost = record.lost(outcomes, recorded)
    assert not lost, "\n" + "\n".join(lost)
    checked = [outcome for outcome in outcomes if outcome.name in recorded]
    assert sum(outcome.verdict in GOOD for outcome in outcomes) >= len(checked) > 0


def test_refusals_say_why(outcomes: list[Outcome]) -> None:
    refused = [o for o in outcomes if o.verdict is Verdict.UNSUPPORTED]
    assert not [o.name for o in refused if not o.why.startswith(("cannot ", "input "))]


@pytest.mark.skipif(
    onnx.__version__ != record.read()[0], reason="another version of onnx has other cases"
)
def test_page_is_in_step() -> None:
    asked = "write it with python -m tests.conformance --document"
    assert document.PATH.read_text() == document.text(), asked


def test_crash_costs_one_case() -> None:
    (relu,), unknown = load(("simple",), "test_single_relu"), Case("test_none", "simple", 0, 0)
    before, crashed, after = pool.run([relu, unknown, relu], workers=1)
    assert before == after
    assert before.verdict is Verdict.PASSED
    assert crashed.verdict is Verdict.CRASHED
    assert crashed.why == "its process ended with exit status 1"
