"""The experiments run on recorded data, and write what they say they do."""

from __future__ import annotations

import csv
import importlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.compare import Subject, compare, read, table, write
from experiments.workloads import (
    AVX512,
    ROUNDS,
    Curve,
    OnMachine,
    opened,
    recorded,
    task_named,
    trials_to,
)

from tilewright.errors import ArgumentError
from tilewright.records.trial import Measured, Outcome
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


def test_runs_are_read_as_they_were_written(tmp_path: Path) -> None:
    curves = [Curve(np.log2([1.0, 1.0, 4.0, 4.0]), np.array([0.5, 1.0, 2.0, 3.0]))]
    curves.append(Curve(np.log2([2.0, 8.0, 8.0, 8.0]), np.full(4, np.nan)))
    write(tmp_path / "a.csv", {"C1": {"random": curves}})
    write(tmp_path / "b.csv", {"C1": {"random": curves[:1]}, "C2": {"grid": curves[1:]}})
    runs = read([tmp_path / "a.csv", tmp_path / "b.csv"], 4)
    slow, fast = [0, 0, 2, 2], [1, 3, 3, 3]
    assert [c.best.tolist() for c in runs["C1"]["random"]] == [slow, fast, slow]
    assert [c.best.tolist() for c in runs["C2"]["grid"]] == [fast]
    assert runs["C1"]["random"][0].seconds.tolist() == [0.5, 0.5, 2.0, 2.0]


def test_what_led_by_luck_is_timed_again() -> None:
    """Of two trials that led, the second was lucky: timed again it is the slower one."""
    task = task_named("C3", AVX512)
    trials = recorded().trials(task.key, task.where)[:2]
    first = replace(trials[0], outcome=Measured((2e-3,)))
    lucky = replace(trials[1], outcome=Measured((1e-3,)))

    class Machine:
        def __init__(self) -> None:
            self.asked = 0

        def measure(self, requests: Iterable[Any]) -> Iterator[Outcome]:
            for i, _ in enumerate(requests):
                self.asked += 1
                yield Measured((2e-3, 2e-3)) if i == 0 else Measured((4e-3, 4e-3))

        def close(self) -> None: ...

    curve = Curve(-np.log2([2e-3, 1e-3, 1e-3, 1e-3]), np.zeros(4), {0: first, 1: lucky})
    machine = Machine()
    workload = OnMachine("C3", task, machine)
    twice = curve.every(2)
    assert twice.leaders == {0: lucky}
    settled, halved = workload.settled([curve, twice])
    assert settled.best == pytest.approx(-np.log2([2e-3] * 4))
    assert halved.best == pytest.approx(-np.log2([4e-3] * 2))
    assert machine.asked == 2 * ROUNDS  # each once a round, though two runs have it
