"""The rate of scoring is that of each kind of model, on the features that it learns from."""

from __future__ import annotations

import pytest
from benchmarks import search_rate

from tilewright.models import Boosted, TreeGRU
from tilewright.ops.dense import Dense
from tilewright.tuning.task import Task


def test_each_kind_of_model_scores_candidates() -> None:
    pytest.importorskip("torch")
    assert set(search_rate.MODELS) == {"boosted trees", "TreeGRU"}
    space = Task(Dense(32, 32, 32)).space
    for model in Boosted(rounds=2), TreeGRU(epochs=1):
        assert search_rate.scoring(space, model, rows=16) > 0


def test_scoring_alone_measures_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["search_rate", "--only", "C6", "--scoring"])
    monkeypatch.setattr(search_rate, "scoring", lambda *_: 12345.0)
    monkeypatch.setattr(search_rate, "measuring", lambda _: pytest.fail("it measures"))
    search_rate.main()
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("- C6"))
    assert "12345 by boosted trees" in line
