"""Figure 10a: speeds as shares of the peak against seconds, beside another tuner's."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from experiments.draw import picture
from experiments.figure10a.__main__ import (
    Clocked,
    against_marks,
    by_seconds,
    clocked,
    marks,
    seconds_to,
)
from experiments.workloads import Curve

from tilewright.ops import Dense
from tilewright.search import RandomSearch
from tilewright.tuning.task import Task


def _curve(*shares: float) -> Curve:
    best = np.log2(np.maximum.accumulate(shares))
    return Curve(best, np.arange(1, len(shares) + 1, dtype=np.float64))


def test_when_a_share_is_reached() -> None:
    assert seconds_to(_curve(0.2, 0.6, 0.9), 0.5) == 2
    assert seconds_to(_curve(0.2, 0.3), 0.5) == math.inf


def test_seconds_beside_those_of_another() -> None:
    seeds = [_curve(0.4, 0.85, 0.9), _curve(0.9, 0.9, 0.9), _curve(0.3, 0.83, 0.85)]
    lines = against_marks({"C6": {"guided": seeds}}).splitlines()
    assert lines[2] == "| C6 nhwc | 96% of the peak after 234 s | inf (inf-inf), never |"
    assert lines[3] == "| C6 nchw | 81% of the peak after 179 s | 2.0 (1.0-2.0), 0.011 |"


def test_marks_are_there_for_what_is_run() -> None:
    with clocked(["C6", "C7", "C9"]) as workloads:
        assert all(w.task.threads == 2 for w in workloads)
        assert all([m.layout for m in marks(w.name)] == ["nhwc", "nchw"] for w in workloads)


def test_a_run_is_clocked() -> None:
    curve = Clocked("tiny", Task(Dense(8, 16, 16))).run(RandomSearch(), seed=0, trials=2)
    assert (np.diff([0.0, *curve.seconds]) > 0).all()
    assert np.isfinite(curve.best[-1])


def test_it_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    runs = {"C6": {"guided": [_curve(0.4, 0.8), _curve(0.5, 0.7, 0.9)]}}
    picture(tmp_path / "f.png", runs, lambda axis, name: by_seconds(axis, name, runs[name]))
    assert (tmp_path / "f.png").exists()
