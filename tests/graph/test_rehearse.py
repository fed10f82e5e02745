"""Rehearsal: what is fastest inside of a network is found, kept, and compiled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from tests.graph.models import floats, write

import tilewright as tw
from tilewright.errors import ArgumentError, ModelError, RecordsError
from tilewright.graph import rehearse as module
from tilewright.graph.choices import candidates, known_as, usual
from tilewright.graph.construct import Constructor
from tilewright.graph.kernels import Bound
from tilewright.graph.model import Model, load_onnx
from tilewright.graph.rehearse import apart, rehearse, windows
from tilewright.records import connect
from tilewright.records.store import Records
from tilewright.records.trial import Choice, Measured, Trial
from tilewright.schedule.schedule import Schedule
from tilewright.target import host
from tilewright.tuning.result import Rehearsal
from tilewright.tuning.task import Task


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A product, a softmax, and a product that reads it and, beside it, the first one."""
    rng = np.random.default_rng(0)
    path = write(
        tmp_path_factory.mktemp("rehearse") / "three.onnx",
        [
            helper.make_node("MatMul", ["x", "a"], ["h"]),
            helper.make_node("Softmax", ["h"], ["s"]),
            helper.make_node("MatMul", ["s", "b"], ["m"]),
            helper.make_node("Add", ["m", "h"], ["y"]),
        ],
        {"x": (64, 128)},
        {"a": floats(rng, 128, 96), "b": floats(rng, 96, 96)},
    )
    return load_onnx(path)


def put(records: Records, task: Task, schedule: Schedule, seconds: float) -> Trial:
    records.register(task.key, task.where, task.name, 1.0)
    trial = Trial(task.key, task.where, {}, schedule.to_json(), Measured((seconds,), 0.0))
    records.add([trial])
    return trial


@pytest.fixture
def records(model: Model, tmp_path: Path) -> Any:
    """Say that plain loops are a little faster than what is guessed best, which is far from so."""
    with Records(tmp_path / "r.db") as made:
        for task in model.tasks():
            put(made, task, Schedule(task.expression), 1e-6)
            put(made, task, task.fallback(), 1.2e-6)
        yield made


def plain(model: Model, choices: dict[str, Choice]) -> list[bool]:
    """Return which tasks are chosen to run as plain loops."""
    return [not choices[task.key].trial.steps for task in model.tasks()]


def test_what_is_faster_in_the_network_is_found_and_compiled(model: Model, records: Records):
    x = np.random.default_rng(1).standard_normal((64, 128), np.float32)
    slow = tw.compile(model, records, threads=1)
    wanted = slow(x)
    made = rehearse(model, records, threads=1, seconds=20)
    assert isinstance(made, Rehearsal)
    assert made.after < made.before / 2
    assert len(made.changed) >= 2  # the two products; a softmax may be as fast either way
    chosen = records.choices(known_as(model), model.tasks()[0].where)
    assert plain(model, chosen)[0] is plain(model, chosen)[2] is False
    fast = tw.compile(model, records, threads=1)
    np.testing.assert_allclose(fast(x), wanted, rtol=1e-4, atol=1e-4)
    times = [m.profile(x).whole.least for m in (fast, slow)]
    assert times[0] < times[1] / 2
    assert "-> " in str(made)
    assert "other schedules for" in str(made)


def test_a_faster_trial_ends_a_choice(model: Model, records: Records):
    assert rehearse(model, records, threads=1, seconds=20)
    task = model.tasks()[0]
    known, where = known_as(model), task.where
    assert task.key in records.choices(known, where)
    put(records, task, Schedule(task.expression), 1.1e-6)  # no faster than the first of all
    assert task.key in records.choices(known, where)
    put(records, task, Schedule(task.expression), 0.9e-6)
    left = records.choices(known, where)
    assert task.key not in left
    assert len(left) == len(model.tasks()) - 1
    now = usual(model, model.tasks(), records)
    assert now[task.key].trial.seconds == 0.9e-6


def test_a_choice_is_that_of_one_network_and_its_threads(model: Model, records: Records):
    assert rehearse(model, records, threads=1, seconds=20)
    where = model.tasks()[0].where
    assert records.choices(known_as(model), where)
    assert records.choices("another", where) == {}
    assert records.choices(known_as(model), model.tasks(threads=2)[0].where) == {}


def test_a_choice_beyond_the_tolerance_is_not_taken(tmp_path: Path):
    rng = np.random.default_rng(0)
    conv = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])
    path = write(
        tmp_path / "conv.onnx", [conv], {"x": (1, 16, 8, 8)}, {"w": floats(rng, 16, 16, 3, 3)}
    )
    loose, strict = load_onnx(path), load_onnx(path, tolerance=0)
    task = next(t for t in loose.tasks() if "conv" in t.name)
    (same,) = (t for t in strict.tasks() if t.key == task.key)
    rows = task.space.sample(np.random.default_rng(0), 99)
    configs = map(task.space.config, rows)
    config = next(c for c in configs if str(c["algorithm"]).startswith("winograd"))
    assert known_as(loose) != known_as(strict)
    with Records(tmp_path / "r.db") as made:
        trial = put(made, task, task.schedule(config), 1e-6)
        for model in (loose, strict):
            made.choose(known_as(model), task.where, [Choice(trial)])
        assert usual(loose, [task], made) == {task.key: Choice(trial)}
        assert usual(strict, [same], made) == {}


def test_a_trial_that_cannot_be_used_ends_no_choice(model: Model, records: Records):
    tasks = model.tasks()
    chosen = [Choice(task.best_trial(records)) for task in tasks]
    records.choose(known_as(model), tasks[0].where, chosen)
    for task in tasks:
        steps = [{"step": "Split", "loop": "nobody", "factors": [2, 2]}]
        records.add([Trial(task.key, task.where, {}, steps, Measured((1e-9,)))])
    assert usual(model, tasks, records) == {each.trial.task: each for each in chosen}


@dataclass(frozen=True)
class Positive:
    """The work of a ReLU on 60 numbers, whose tensors have names of their own."""

    name: str = "positive"

    def expression(self) -> tw.Tensor:
        Z = tw.tensor("Z", (60,))
        return tw.compute("out", (60,), lambda n: tw.maximum(Z[n], 0.0))


def test_equal_work_is_one_task_with_one_choice(tmp_path: Path):
    """What differs in shapes that are views of one another, or in names, is the same work."""
    path = write(
        tmp_path / "relus.onnx",
        [helper.make_node("Relu", [a], [b]) for a, b in zip("abc", "xyz", strict=True)],
        {"a": (3, 4, 5), "b": (5, 3, 4), "c": (60,)},
        {},
        "xyz",
    )
    model = load_onnx(path)
    last = model.bound[-1]
    assert last
    vars(model)["bound"] = (*model.bound[:-1], Bound(Positive(), {"Z": last.given["X0"]}))
    (task,) = model.tasks()
    assert task.weight == 3
    rng = np.random.default_rng(0)
    given = [rng.standard_normal(i.shape, np.float32) for i in model.graph.inputs]
    with Records(tmp_path / "r.db") as records:
        for seconds in 1e-6, 1.1e-6:
            put(
                records,
                task,
                task.schedule(task.space.config(task.space.sample(rng, 1)[0])),
                seconds,
            )
        assert len(candidates(model, Constructor(model, host(), 1), records, math.inf)) == 1
        assert rehearse(model, records, threads=1, seconds=20)
        assert len(records.choices(known_as(model), task.where)) == 1
        made = tw.compile(model, records, threads=1)(*given)
    for got, x in zip(made, given, strict=True):
        np.testing.assert_array_equal(got, np.maximum(x, 0))


def test_nothing_to_choose_is_none(model: Model, tmp_path: Path):
    with Records(tmp_path / "r.db") as records:
        assert rehearse(model, records, threads=1) is None
        assert records.choices(known_as(model), model.tasks()[0].where) == {}


def test_a_run_that_takes_too_long_is_not_rehearsed(model: Model, records: Records):
    assert rehearse(model, records, threads=1, seconds=1e-6) is None
    assert records.choices(known_as(model), model.tasks()[0].where) == {}


def test_what_is_no_faster_as_a_whole_is_not_taken(
    model: Model, records: Records, monkeypatch: pytest.MonkeyPatch
):
    """Parts that seem faster, but are slower together, are given up."""
    stage = module._Stage  # pyright: ignore[reportPrivateUsage]

    def timed(_: Any, turns: Any, samples: int, late: float) -> Any:
        assert samples
        assert late
        calls = [[[1.0 - sum(turn) / 10]] * 3 for turn in turns]
        return [(of, [float(sum(turn))]) for of, turn in zip(calls, turns, strict=True)]

    monkeypatch.setattr(stage, "timed", timed)
    made = rehearse(model, records, threads=1, seconds=20)
    assert made is not None
    assert made.changed == ()
    assert made.after == made.before == 0
    chosen = records.choices(known_as(model), model.tasks()[0].where)
    assert plain(model, chosen) == [True, True, True]
    assert "no other schedules" in str(made)


def test_what_was_fastest_already_is_told_from_what_was_not_timed(
    model: Model, records: Records, monkeypatch: pytest.MonkeyPatch
):
    def timed(_: Any, turns: Any, samples: int, late: float) -> Any:
        assert samples
        assert late
        return [([[1.0]] * 3, [2.0]) for _ in turns]

    monkeypatch.setattr(module._Stage, "timed", timed)  # pyright: ignore[reportPrivateUsage]
    made = rehearse(model, records, threads=1, seconds=np.int64(20))  # pyright: ignore[reportArgumentType]
    assert made == Rehearsal(2.0, 2.0, ())


def test_what_is_no_records_is_refused(model: Model, tmp_path: Path):
    with pytest.raises(ArgumentError, match="cannot take schedules from 3"):
        rehearse(model, 3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(RecordsError, match="no such file"):
        rehearse(model, tmp_path / "none.db")


def test_memory_that_runs_out_loses_no_result(
    model: Model, records: Records, monkeypatch: pytest.MonkeyPatch
):
    chosen = [Choice(best) for task in model.tasks() if (best := task.best_trial(records))]
    records.choose(known_as(model), model.tasks()[0].where, chosen)

    def fails(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(Constructor, "prepare", fails)
    with pytest.raises(ModelError, match=r"cannot rehearse Model.* memory ran out"):
        rehearse(model, records, threads=1, seconds=20)
    result = tw.tune(model, trials=1, records=records, threads=1)
    assert result.sessions
    assert result.rehearsal is None
    assert "memory ran out" in result.unrehearsed
    assert repr(result).endswith(", not rehearsed)")
    known = records.choices(known_as(model), model.tasks()[0].where)
    assert list(known.values()) == chosen


def test_records_that_cannot_be_written_are_found_at_the_start(
    model: Model, records: Records, monkeypatch: pytest.MonkeyPatch
):
    def starts(*_: Any) -> Any:
        raise AssertionError("it began")

    monkeypatch.setattr(module, "_Stage", starts)
    monkeypatch.setattr(connect, "_can_write", lambda _: False)  # as of a file of others'
    with pytest.raises(RecordsError, match=r"cannot write .*readonly.* make the file and its dir"):
        rehearse(model, str(records.url.database))
    with Records(str(records.url.database), create=False) as reader:
        assert [bool(task.best_trial(reader)) for task in model.tasks()] == [True] * 3
        with pytest.raises(RecordsError, match="readonly"):
            reader.check_writable()


@pytest.fixture
def stage(model: Model, records: Records) -> Any:
    return module._Stage(model, records, 1, 20.0)  # pyright: ignore[reportPrivateUsage]


def test_nothing_more_is_made_when_it_is_late(stage: Any):
    usual = [0, 0, 0]
    assert [len(whole) for _, whole in stage.timed([usual, [1, 0, 0], [0, 1, 0]], 12, 0.0)] == [6]
    assert stage.timed([usual, [1, 1, 1]], 12, math.inf)
    times = stage.timed([usual, [1, 0, 0], [0, 1, 0]], 12, 0.0)  # all of them are made
    assert [len(whole) for _, whole in times] == [6, 6]


def test_what_was_not_timed_is_not_chosen(stage: Any):
    stage.choosing = 0.0
    assert stage.groups
    assert all(stage.chosen([0, 0, 0], group) == [0, 0, 0] for group in stage.groups)
    assert not stage.compared


def test_no_more_trials_are_looked_at_when_it_is_late(model: Model, records: Records):
    construct = Constructor(model, host(), 1)
    early, late = (candidates(model, construct, records, at) for at in (math.inf, 0.0))
    assert [len(of) for of in early] == [2, 2, 2]
    assert [len(of) for of in late] == [1, 1, 1]


@pytest.mark.parametrize("seconds", [0, -1, 10**400, float("inf"), float("nan"), "long", True])
def test_seconds_are_a_number_above_none(model: Model, records: Records, seconds: Any):
    with pytest.raises(ArgumentError, match="cannot rehearse for"):
        rehearse(model, records, seconds=seconds)


def test_what_is_no_network_is_refused(records: Records):
    with pytest.raises(ArgumentError, match="give a network"):
        rehearse("three.onnx", records)  # pyright: ignore[reportArgumentType]


def test_a_schedule_has_an_effect_on_its_own_calls_and_their_readers(model: Model):
    numbers = Constructor(model, host(), 1).numbers
    assert windows(model, numbers) == [frozenset({0, 1, 2}), frozenset({1, 2}), frozenset({2})]


def test_little_work_is_left_to_one_thread_of_several(
    model: Model, records: Records, monkeypatch: pytest.MonkeyPatch
):
    """All that is left alone is said to be faster; where it is, no loop of a kernel is shared."""
    stage = module._Stage  # pyright: ignore[reportPrivateUsage]

    def timed(_: Any, turns: Any, samples: int, late: float) -> Any:
        assert samples
        assert late
        return [([[1.0 - (of == 1) / 2] for of in turn], [1.0 - max(turn) / 2]) for turn in turns]

    shared = tw.compile(model, records, threads=2)
    assert any(kernel.calls for kernel in shared.executable.kernels)
    monkeypatch.setattr(stage, "timed", timed)
    assert rehearse(model, records, threads=2, seconds=20)
    chosen = records.choices(known_as(model), model.tasks(threads=2)[0].where)
    assert [chosen[task.key].alone for task in model.tasks()] == [True, True, True]
    alone = tw.compile(model, records, threads=2)
    assert not any(kernel.calls for kernel in alone.executable.kernels)
    x = np.random.default_rng(1).standard_normal((64, 128), np.float32)
    np.testing.assert_allclose(alone(x), shared(x), rtol=1e-4, atol=1e-4)


def test_tasks_are_apart_if_they_share_no_call():
    alone = [frozenset({i}) for i in range(4)]
    assert apart(alone, range(4)) == [[0, 1, 2, 3]]
    chain = [frozenset({i, i + 1}) for i in range(4)]
    assert apart(chain, range(4)) == [[0, 2], [1, 3]]
    assert apart(chain, [1, 2]) == [[1], [2]]
    assert apart([frozenset({0, 1, 2})] * 2, range(2)) == [[0], [1]]


def test_tuning_a_network_ends_with_it(model: Model, tmp_path: Path):
    with Records(tmp_path / "r.db") as records:
        result = tw.tune(model, trials=24, records=records)
        assert result.rehearsal is None or isinstance(result.rehearsal, Rehearsal)
        assert set(records.choices(known_as(model), model.tasks()[0].where)) == {
            task.key for task in model.tasks()
        }
        again = tw.tune(model, trials=0, records=records)
        assert again.rehearsal is None
