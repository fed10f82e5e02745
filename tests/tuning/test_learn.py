"""Records of some tasks teach a model that helps with others, from the first batch on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tuning.toys import Toy, by_text

import tilewright as tw
from tilewright import models
from tilewright.errors import ArgumentError, RecordsError
from tilewright.features import FEATURES, KnobValues, Relation
from tilewright.measure.build import Request
from tilewright.models import Boosted, Transfer
from tilewright.ops.dense import Dense
from tilewright.records import Failed, Measured, Outcome
from tilewright.records.store import Records
from tilewright.search import Annealing, Guided, RandomSearch
from tilewright.tuning.guess import cost
from tilewright.tuning.learn import learn
from tilewright.tuning.task import Task
from tilewright.tuning.tune import tune
from tilewright.tuning.weights import weight

TASKS = (Task(Dense(32, 48, 40)), Task(Dense(64, 64, 64)), Task(Dense(16, 96, 128)))


def by_work(request: Request) -> Outcome:
    """Tell a time that all products have in common: one in nine fails."""
    seconds = 1e-9 * float(cost(request.nest, 1)[0])
    noise = by_text(request)
    assert isinstance(noise, Measured)
    if int(noise.median * 1e12) % 9 == 0:
        return Failed("run", "crash")
    return Measured((seconds, 1.05 * seconds, seconds))


@pytest.fixture(scope="module")
def records() -> Iterator[Records]:
    with Records(":memory:") as records:
        tune(
            TASKS,
            trials=150,
            records=records,
            search=RandomSearch(),
            measure=Toy(by_work),
            batch=50,
        )
        yield records


def test_every_trial_is_a_row_and_each_task_a_group(records: Records) -> None:
    data = learn(records, TASKS)
    told = [records.trials(task.key, task.where) for task in TASKS]
    assert len(data) == sum(map(len, told)) == 150
    assert [len(rows) for rows in data.members()] == [len(trials) for trials in told]
    for rows, trials in zip(data.members(), told, strict=True):
        seconds = np.array([t.seconds or np.inf for t in trials])
        assert np.array_equal(
            np.argsort(-data.y[rows], kind="stable"), np.argsort(seconds, kind="stable")
        )
        assert data.weight[rows].tolist() == [weight(t.outcome) for t in trials]


def test_steps_tell_the_same_as_configs_in_a_space_that_is_as_it_was(records: Records) -> None:
    """With another template no config fits, and the steps alone are enough."""

    def other(s: tw.Schedule, knob: tw.Knobs) -> tw.Schedule:
        return s.split("y", knob.split("y", s.extent("y"), 2))

    by_config = learn(records, TASKS[0], most=20)
    by_steps = learn(records, replace(TASKS[0], template=other), most=20)
    np.testing.assert_array_equal(by_config.X, by_steps.X)
    np.testing.assert_array_equal(by_config.y, by_steps.y)


def test_a_config_that_means_something_else_now_is_not_believed(tmp_path: Path) -> None:
    """The same knob, another schedule: features are still those of what was measured."""
    work = Dense(32, 48, 40)

    def choice(loop: str) -> object:
        def made(s: tw.Schedule, knob: tw.Knobs) -> tw.Schedule:
            return s.split(loop, (s.extent(loop) // 2, 2)) if knob.flag("split") else s

        return made

    before, now = (Task(work, template=choice(loop)) for loop in ("y", "k"))  # type: ignore[arg-type]
    with Records(tmp_path / "r.db") as records:
        tune(before, trials=2, records=records, search=RandomSearch(), measure=Toy())
        np.testing.assert_array_equal(learn(records, before).X, learn(records, now).X)


def test_some_of_the_trials_are_taken_evenly(records: Records) -> None:
    data = learn(records, TASKS, most=10)
    assert [len(rows) for rows in data.members()] == [10, 10, 10]
    whole = learn(records, TASKS)
    for some, every in zip(data.members(), whole.members(), strict=True):
        assert data.y[some].max() == whole.y[every].max()
        assert data.y[some].min() < np.median(whole.y[every])


def test_nothing_on_record_is_refused_with_what_is_there(records: Records) -> None:
    with pytest.raises(RecordsError) as raised:
        learn(records, Task(Dense(5, 5, 5)))
    where = TASKS[0].where
    first, there, instead = str(raised.value).splitlines()
    assert first == (
        f"cannot learn dense 5x5 -> 5 on {where} from Records(':memory:'): it holds no trial of it."
    )
    assert there.startswith("  trials on record: dense 16x96 -> 128 on ")
    assert there.count(" on ") == 1 + len(TASKS)
    assert instead.endswith("least=0 takes what there is.")


def test_the_same_work_on_other_threads_is_named_first(records: Records) -> None:
    with pytest.raises(RecordsError) as raised:
        learn(records, [replace(TASKS[1], threads=2, cold=True)])
    told = len(records.trials(TASKS[1].key, TASKS[1].where))
    named = f"trials on record: {TASKS[1].name} on {TASKS[1].where}: {told}; "
    assert f"/2t/cold from {records}" in str(raised.value)
    assert named in str(raised.value)


def test_some_tasks_may_be_without_trials(records: Records) -> None:
    mixed = learn(records, [Task(Dense(5, 5, 5)), *TASKS], most=10)
    assert [len(rows) for rows in mixed.members()] == [10, 10, 10]


def test_as_many_trials_as_are_asked_for_must_have_run(records: Records) -> None:
    ran = sum(
        isinstance(trial.outcome, Measured)
        for task in TASKS
        for trial in records.trials(task.key, task.where)
    )
    assert 0 < ran < 150
    assert len(learn(records, TASKS, least=ran)) == 150
    with pytest.raises(RecordsError, match=f": of 150 trials of them {ran} ran .*, 151 are wanted"):
        learn(records, TASKS, least=151)


def test_failures_alone_teach_nothing() -> None:
    def fail(_: Request) -> Outcome:
        return Failed("run", "crash")

    with Records(":memory:") as records:
        search = RandomSearch()
        tune(TASKS[0], trials=3, records=records, search=search, measure=Toy(fail))
        with pytest.raises(RecordsError, match="of 3 trials of it none ran"):
            learn(records, TASKS[0])
        assert len(learn(records, TASKS[0], least=0)) == 3


def test_no_task_is_refused(records: Records) -> None:
    with pytest.raises(RecordsError, match="no task was given; give what was tuned, or least=0"):
        learn(records, [])


def test_an_empty_database_says_so() -> None:
    with Records(":memory:") as records, pytest.raises(RecordsError, match="on record: none"):
        learn(records, TASKS)


def test_no_rows_are_taken_where_that_is_asked_for(records: Records) -> None:
    data = learn(records, Task(Dense(5, 5, 5)), least=0)
    assert (len(data), data.X.shape[1]) == (0, len(FEATURES.names))
    assert len(learn(records, [], least=0)) == 0


def test_features_of_one_space_are_refused(records: Records) -> None:
    with pytest.raises(ArgumentError, match="mean nothing in another space"):
        learn(records, TASKS, KnobValues())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"most": 0}, "most=0 trials of each task: give a whole number of at least 1"),
        ({"most": -3}, "most=-3"),
        ({"most": 2.5}, r"most=2\.5"),
        ({"most": True}, "most=True"),
        ({"most": "all"}, "most='all'"),
        ({"least": -1}, "at least -1 trials: give a whole number, 0 if there need be none"),
        ({"least": None}, "at least None trials"),
        ({"features": Relation}, "cannot learn from <class .*: give an extractor"),
        ({"features": None}, "cannot learn from None: give an extractor"),
        ({"records": None}, r"cannot learn from None \(NoneType\): give Records, or the path"),
        ({"records": Records}, "give Records, or the path"),
    ],
)
def test_what_it_cannot_learn_from_is_said(
    records: Records, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ArgumentError, match=said):
        learn(**dict[str, Any](records=records, tasks=TASKS) | given)


def test_records_may_be_a_path(tmp_path: Path) -> None:
    path, task = tmp_path / "r.db", TASKS[0]
    with Records(path) as records:
        tune(task, trials=4, records=records, search=RandomSearch(), measure=Toy())
        told = learn(records, task)
        assert len(learn(records, task)) == 4, "what was given stays open"
    for given in (path, str(path)):
        np.testing.assert_array_equal(learn(given, task).X, told.X)
    with pytest.raises(RecordsError, match=r"nowhere\.db"):
        learn(tmp_path / "nowhere.db", task)
    assert not (tmp_path / "nowhere.db").exists()


def test_what_was_learnt_leads_the_first_batch_of_another_task(
    records: Records, tmp_path: Path
) -> None:
    """Saved, loaded and put into Transfer: the first batch is better than what others propose."""
    features = Relation()
    fitted = Boosted(rounds=40).fit(learn(records, TASKS, features))
    models.save(fitted, tmp_path / "products.tw", features, data="three products")
    source = models.load(tmp_path / "products.tw", features)
    annealing = Annealing(chains=128, steps=16)
    searches = {
        "transfer": Guided(Transfer(source=source, features=features), annealing),
        "random": RandomSearch(),
    }
    other, found = Task(Dense(48, 80, 96)), dict[str, list[float]]()
    for name, seed in itertools.product(searches, range(3)):
        result = tune(
            other, trials=24, search=searches[name], measure=Toy(by_work), batch=24, seed=seed
        )
        trials = result.records.trials(other.key, other.where)[1:]
        found.setdefault(name, []).append(float(np.median([t.seconds or np.inf for t in trials])))
    assert np.mean(found["transfer"]) < 0.8 * np.mean(found["random"])
