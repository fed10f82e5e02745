"""Replay answers what was measured, by the program alone, and says what was not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.errors import ArgumentError
from tilewright.features import Relation
from tilewright.measure.replay import Replay
from tilewright.ops.matmul import Matmul
from tilewright.records.store import Records
from tilewright.records.trial import Failed, Measured, Outcome, Trial
from tilewright.search import Guided, RandomSearch
from tilewright.testing.recorded import pool, read_table


def _recorded(task: tw.Task, records: Records, count: int) -> list[Trial]:
    """Put made up outcomes of random candidates on record."""
    records.register(task.key, task.where, task.name, 1.0)
    trials: list[Trial] = []
    for i, row in enumerate(task.space.sample(np.random.default_rng(0), count)):
        config = task.space.config(row)
        steps = task.schedule(config).to_json()
        outcome: Outcome = Measured((1e-3 / (1 + i),)) if i % 5 else Failed("run", "crash", "toy")
        trials.append(Trial(task.key, task.where, config.to_json(), steps, outcome))
    records.add(trials)
    return trials


def test_a_program_is_known_by_its_loops() -> None:
    task = tw.Task(Matmul(8, 12, 16))
    with Records(":memory:") as records:
        trials = _recorded(task, records, 20)
        with Replay(records) as replay:
            requests = [task.request(task.recorded(trial)) for trial in trials]
            assert list(replay.measure(requests)) == [trial.outcome for trial in trials]
            known = {task.recorded(trial).loops for trial in trials}
            new = next(
                s
                for row in task.space.sample(np.random.default_rng(1), 50)
                if (s := task.schedule(task.space.config(row))).loops not in known
            )
            (outcome,) = replay.measure([task.request(new)])
            assert isinstance(outcome, Failed)
            assert outcome.reason == "unknown"


def test_tuning_runs_on_records_alone() -> None:
    task = tw.Task(Matmul(8, 12, 16))
    with Records(":memory:") as records, Records(":memory:") as fresh:
        _recorded(task, records, 200)
        with Replay(records) as replay:
            result = tw.tune(task, trials=16, records=fresh, measure=replay, search=RandomSearch())
        assert result.best.output is not None
        assert len(fresh.trials(task.key, task.where)) == 16


def test_a_pool_of_trials_is_a_problem() -> None:
    task = tw.Task(Matmul(8, 12, 16))
    with Records(":memory:") as records:
        trials = _recorded(task, records, 100)
    recorded = pool(task, trials, Relation())
    assert recorded.best == pytest.approx(-np.log2(1e-3 / 100))
    searcher = Guided().start(recorded.problem, np.random.default_rng(0))
    curve = recorded.run(searcher, 100, batch=16)
    assert curve[-1] == recorded.best
    assert np.all(np.diff(curve[curve > -np.inf]) >= 0)


def test_a_damaged_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,time_ms\n1,2,3.0\n4,5\n")
    with pytest.raises(ArgumentError, match="each line holds 3 values"):
        read_table(path)
