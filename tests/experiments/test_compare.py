"""The experiments run on recorded data, and write what they say they do."""

from __future__ import annotations

import csv
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from experiments.compare import Subject, compare, table
from experiments.workloads import Curve, opened, trials_to

from tilewright.errors import ArgumentError
from tilewright.search import RandomSearch


def test_a_figure_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["--on", "gemm_RTX_3090", "pool:C3", "--seeds", "2", "--trials", "8"]
    monkeypatch.setattr(sys, "argv", ["figure", *arguments, "--out", str(tmp_path)])
    twice = {"random": Subject(RandomSearch()), "random x2": Subject(RandomSearch(), 2)}
    compare("a figure", tmp_path, twice)
    with (tmp_path / "curves.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert {line["workload"] for line in lines} == {"gemm_RTX_3090", "pool:C3"}
    assert {line["subject"] for line in lines} == set(twice)
    assert max(int(line["trial"]) for line in lines) <= 8
    assert (tmp_path / "table.md").read_text().count("\n") == 4


def test_medians_over_seeds() -> None:
    def curve(*speeds: float) -> Curve:
        best = np.maximum.accumulate(np.log2(speeds))
        return Curve(best, np.full(len(best), np.nan))

    runs = {"w": {"a": [curve(1, 2, 4), curve(4, 4, 4), curve(1, 1, 1)], "b": [curve(1, 1, 2)] * 3}}
    assert trials_to(runs["w"]["a"][0], 0.95, 2.0) == 3
    said = table(runs).splitlines()[-1]
    assert said == "| w | 3 (2-4), 100.0% | more than 3 (4-4), 50.0% |"


def test_workloads_that_there_are_not() -> None:
    with pytest.raises(ArgumentError, match="there is no workload 'C99'"), opened(["C99"]):
        pass


@pytest.mark.parametrize(
    "figure", ["figure4", "figure5", "figure6", "figure7", "figure8", "figure10a"]
)
def test_figures_name_their_subjects(figure: str) -> None:
    subjects = importlib.import_module(f"experiments.{figure}.__main__").SUBJECTS
    assert len(subjects) > 1
    assert all(isinstance(subject, Subject) for subject in subjects.values())
