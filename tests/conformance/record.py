"""Which cases pass, as a text that is kept with the code: none of them may be lost."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import onnx
from tests.conformance.check import BAD, GOOD, Outcome, Verdict

PATH = Path(__file__).with_name("passed.txt")
_MARKS = {
    Verdict.PASSED: "",
    Verdict.WITH_PARAMETERS: "parameters",
    Verdict.WITH_WEIGHTS: "weights",
}


def write(outcomes: Iterable[Outcome], path: Path = PATH) -> None:
    """Write the cases that passed, each with what had to be constant for that."""
    lines = sorted(
        f"{outcome.name} {_MARKS[outcome.verdict]}".rstrip()
        for outcome in outcomes
        if outcome.verdict in GOOD
    )
    path.write_text("\n".join([f"onnx {onnx.__version__}", *lines]) + "\n")


def read(path: Path = PATH) -> tuple[str, dict[str, Verdict]]:
    """Return the version of the package whose cases these are, and how each passed."""
    first, *lines = path.read_text().splitlines()
    verdicts = {mark: verdict for verdict, mark in _MARKS.items()}
    parts = (line.partition(" ") for line in lines)
    return first.split()[1], {name: verdicts[mark] for name, _, mark in parts}


def lost(outcomes: Iterable[Outcome], recorded: dict[str, Verdict]) -> list[str]:
    """Say which outcomes are worse than those on record, beside the bad, which are told anyway."""
    return [
        f"{outcome.name}: {recorded[outcome.name]} before, now {outcome.verdict}"
        f"{': ' if outcome.why else ''}{outcome.why}"
        for outcome in outcomes
        if outcome.name in recorded
        and outcome.verdict not in BAD
        and list(Verdict).index(outcome.verdict) > list(Verdict).index(recorded[outcome.name])
    ]
