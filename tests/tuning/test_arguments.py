"""What tuning takes, and the sentences it says to what it does not."""

# pyright: reportArgumentType=false
# (what is wrong on purpose)

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.models.resnet18 import build
from tests.graph.models import save
from tests.tuning.toys import Toy, configs

import tilewright as tw
from tilewright.errors import ArgumentError, SpaceError, TargetError, TilewrightError
from tilewright.models import Boosted
from tilewright.ops.dense import Dense
from tilewright.records.store import Records
from tilewright.records.trial import Failed
from tilewright.schedule.schedule import Schedule
from tilewright.search import (
    Annealing,
    Evolution,
    Genetic,
    Guided,
    OptunaSearch,
    RandomSearch,
)
from tilewright.space.knobs import Knobs
from tilewright.target import Target
from tilewright.tuning.result import Result
from tilewright.tuning.task import Task
from tilewright.tuning.tune import tune

A = tw.tensor("A", (64,))
OUT = tw.compute("out", (64,), lambda x: A[x] + 1.0)
RANDOM = RandomSearch()
WIDE = Target("neoverse-n1")


class Ridge:
    """Half a cost model: it can fit."""

    def fit(self, data: Any, previous: Any = None) -> Any: ...


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = build(image=32, width=8, blocks=(1,), classes=5)
    return save(made, tmp_path_factory.mktemp("net") / "small.onnx")


@pytest.mark.parametrize(
    "what", [OUT, Task(OUT), [OUT], [Task(OUT), Dense(4, 8, 4)], Dense(4, 8, 4)]
)
def test_work_of_every_kind_is_tuned(what: Any):
    result = tune(what, trials=2, measure=Toy(), search=RANDOM)
    assert sum(session.trials for session in result.sessions) == 2


def test_a_network_is_tuned_for_threads(net: Path):
    model = tw.load_onnx(net)
    result = tune(model, trials=2, measure=Toy(), search=RANDOM, threads=2)
    assert {session.task.threads for session in result.sessions} == {2}
    assert all("/2t" in session.task.where for session in result.sessions)
    assert {s.task.threads for s in tune(model, trials=0).sessions} == {1}
    assert tune(Task(OUT, threads=3), trials=0).sessions[0].task.threads == 3


def test_records_may_be_a_path(tmp_path: Path):
    for path in tmp_path / "a.db", str(tmp_path / "b.db"):
        result = tune(OUT, trials=2, records=path, measure=Toy(), search=RANDOM)
        result.records.close()
        assert len(configs(Path(path), Task(OUT))) == 2


def test_a_peak_goes_on_record():
    with Records(":memory:") as records:
        tune(OUT, trials=2, records=records, measure=Toy(), search=RANDOM, peak=7e9)
        assert records.peak(Task(OUT).where) == 7e9
        tune(OUT, trials=1, records=records, search=RANDOM)
        assert records.peak(Task(OUT).where) not in (None, 7e9)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "a path": (lambda: tune("net.onnx", trials=1), r"load_onnx\('net.onnx'\)"),
    "a path object": (lambda: tune(Path("net.onnx"), trials=1), "load the network first"),
    "a number": (lambda: tune(3, trials=1), "cannot make a task of int 3"),
    "numbers": (lambda: tune([3], trials=1), "cannot make a task of int 3"),
    "a schedule": (lambda: tune(Schedule(OUT), trials=1), "schedule.output"),
    "an input": (lambda: tune(A, trials=1), "it is an input"),
    "a class": (lambda: tune(Dense, trials=1), "the class Dense"),
    "records of a number": (lambda: tune(OUT, trials=1, records=3), "path of a database"),
    "a search by name": (lambda: tune(OUT, trials=1, search="random"), r"RandomSearch\(\)"),
    "a search's class": (lambda: tune(OUT, trials=1, search=RandomSearch), "with RandomSearch: "),
    "half a trial": (lambda: tune(OUT, trials=8.5), "8.5 trials"),
    "trials by name": (lambda: tune(OUT, trials="8"), "'8' trials"),
    "half a batch": (lambda: tune(OUT, trials=8, batch=2.5), "batches of 2.5"),
    "a seed by name": (lambda: tune(OUT, trials=8, seed="a"), "seed 'a'"),
    "no threads": (lambda: tune(OUT, trials=8, threads=0), "threads=0"),
    "no tasks": (lambda: tune([], trials=4), r"cannot tune \[\], which holds no task"),
    "no tasks and no trials": (lambda: tune((), trials=0), r"cannot tune \(\)"),
    "a negative peak": (lambda: tune(OUT, trials=1, peak=-1), "peak=-1"),
    "a peak of nothing": (lambda: tune(OUT, trials=1, peak=0.0), "more than none"),
    "a peak that is no number": (lambda: tune(OUT, trials=1, peak=float("nan")), "peak=nan"),
    "a peak by name": (lambda: tune(OUT, trials=1, peak="fast"), "peak='fast'"),
    "a measurer's class": (lambda: tune(OUT, trials=1, measure=Toy), "give a Measurer"),
    "a measurer by name": (lambda: tune(OUT, trials=1, measure="local"), "with 'local'"),
    "a watch by name": (lambda: tune(OUT, trials=1, watch="me"), "cannot watch with 'me'"),
    "a foreign target": (lambda: tune(Task(OUT, "aarch64"), trials=1, peak=1e11), "cannot run"),
    "one foreign target": (lambda: tune([OUT, Task(OUT, WIDE)], trials=1), "measure=..."),
    "a foreign target measured here": (
        lambda: tune(Task(OUT, "aarch64"), trials=1, measure=tw.measure.Local()),
        "cannot run",
    ),
    "a model's class": (lambda: Guided(Boosted), r"Guided\(model=.*a cost model, such as Boosted"),
    "a model's class by name": (lambda: Guided(model=Ridge), r"a cost model, such as Boosted\(\)"),
    "a model by name": (lambda: Guided("boosted"), "a cost model"),
    "an optimiser's class": (lambda: Guided(optimiser=Annealing), r"such as Evolution\(\)"),
    "an unknown objective": (lambda: Boosted("foo"), "objective is 'rank' or 'regression'"),
    "trees of no depth": (lambda: Boosted(depth=-3), r"Boosted\(depth=-3\): depth is a whole"),
    **{
        f"trees with {name}={value!r}": (lambda n=name, v=value: Boosted(**{n: v}), f"{name} is a ")
        for name in (
            "rounds",
            "depth",
            "learning_rate",
            "leaf",
            "ridge",
            "columns",
            "bins",
            "seed",
            "threads",
        )
        for value in (-1, "6", None, float("nan"), True)
    },
    **{
        f"{kind.__name__} with {name}={value!r}": (
            lambda k=kind, n=name, v=value: k(**{n: v}),
            rf"{kind.__name__}\({name}=.*",
        )
        for kind, names in {
            Guided: ("epsilon", "diversity", "alpha", "seeds", "chance"),
            Evolution: ("population", "generations", "crossover", "mutation", "patience"),
            Genetic: ("population", "mutation"),
            OptunaSearch: ("sampler", "startup"),
            tw.measure.Local: ("timeout", "sample", "repeats"),
        }.items()
        for name in names
        for value in (-1, "6", None, float("nan"))
    },
    "a task of no weight": (lambda: Task(OUT, weight=0), "weight=0"),
    "a task of half a weight": (lambda: Task(OUT, weight=0.5), "at least 1"),
    "a task of a schedule": (lambda: Task(Schedule(OUT)), "task of Schedule"),
    "a task of a text": (lambda: Task("matmul"), "cannot make a task of str 'matmul'"),
    "a task of an input": (lambda: Task(A), "it is an input"),
    "a task on no threads": (lambda: Task(OUT, threads=0), "threads=0"),
    "a task on half a thread": (lambda: Task(OUT, threads=0.5), "threads=0.5"),
    "a task on an unknown target": (lambda: Task(OUT, target="pentium"), "x86-64-v3"),
    "a task on a number": (lambda: Task(OUT, target=3), "3 is no target"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name: str):
    call, said = WRONG[name]
    with pytest.raises(TilewrightError, match=said) as error:
        call()
    assert isinstance(error.value, ArgumentError | TargetError)


def test_a_model_is_no_task(net: Path):
    with pytest.raises(ArgumentError, match=r"model.tasks\(\)"):
        Task(tw.load_onnx(net))


def test_a_target_may_be_named():
    assert Task(OUT, target="x86-64-v3").target == Target("x86-64-v3")


def test_what_is_of_one_task_is_refused_of_several():
    several = tune([OUT, Dense(4, 8, 4)], trials=2, measure=Toy(), search=RANDOM)
    for result in several, Result((), several.records):
        for ask in (lambda r: r.best), (lambda r: r.curve):
            with pytest.raises(ArgumentError, match=r"result\.sessions"):
                ask(result)
    assert several.failures == {}


def test_results_and_tasks_print_in_a_line():
    result = tune(OUT, trials=2, measure=Toy(), search=RANDOM)
    assert repr(result) == "Result(out 64: 2 trials, 0 failed, in Records(':memory:'))"
    assert repr(Task(OUT)) == f"Task(out 64 on {tw.host().key})"
    several = tune([OUT, Dense(4, 8, 4)], trials=2, measure=Toy(), search=RANDOM)
    assert repr(several).startswith("Result(2 tasks: 2 trials, 0 failed")
    one = tune(OUT, trials=1, measure=Toy(), search=RANDOM)
    assert repr(one).startswith("Result(out 64: 1 trial, 0 failed")


def test_sessions_and_events_print_in_a_line():
    events: list[tw.tuning.events.Event] = []
    result = tune(OUT, trials=1, measure=Toy(), search=RANDOM, watch=events.append)
    assert repr(result.sessions[0]).startswith("Session(out 64: 1 trial, 0 failed, best ")
    assert repr(events[0]).startswith("Event(1/1, out 64: ")
    failed = dataclasses.replace(events[0], outcome=Failed("run", "crash", "a page" * 99))
    assert repr(failed) == "Event(1/1, out 64: run crash)"


def test_a_foreign_target_is_tuned_where_the_measurer_runs_it():
    result = tune(Task(OUT, "aarch64"), trials=2, measure=Toy(), search=RANDOM)
    assert result.sessions[0].trials == 2
    assert tune(Task(OUT, "aarch64"), trials=0).sessions[0].trials == 0


def test_extensions_find_what_they_need_where_it_is_named():
    from tilewright.measure import Local, Measurer
    from tilewright.search import History

    assert History.__name__ == "History"
    assert tw.measure.Measurer is Measurer
    assert tw.measure.Local is Local
    with pytest.raises(AttributeError, match=r"it has Answer, .*Measurer"):
        _ = tw.measure.Locale


# -- templates


def two(s: Schedule, knob: Knobs) -> Schedule:
    return s.split("x", knob.split("x", 64, 2))


def three(s: Schedule, knob: Knobs, target: Target) -> Schedule:
    assert isinstance(target, Target)
    return two(s, knob)


def optional(s: Schedule, knob: Knobs, inner: int = 8) -> Schedule:
    return s.split("x", knob.split("x", 64, 2, max_inner=inner))


@pytest.mark.parametrize("template", [two, three, optional, lambda *given: two(*given[:2])])
def test_templates_of_both_forms(template: Any):
    @tw.op
    def plus(n: int) -> tw.Tensor:
        a = tw.tensor("A", (n,))
        return tw.compute("out", (n,), lambda x: a[x] + 1.0)

    plus.template(template)
    for task in Task(OUT, template=template), Task(plus(64)):
        rows = task.space.sample(np.random.default_rng(0), 7)
        assert len(task.space.knobs) == 1
        assert all("x.1" in str(task.schedule(task.space.config(r)).loops) for r in rows)


def forgets(s: Schedule, knob: Knobs) -> Any:
    s.split("x", knob.split("x", 64, 2))


def branches(s: Schedule, knob: Knobs) -> Any:
    x = knob.split("x", 64, 2)
    return s.split("x", x) if x[1] > 4 else s


def branches_on_an_extent(s: Schedule, knob: Knobs) -> Any:
    s = s.split("x", knob.split("x", 64, 2))
    return s.unroll("x.1") if s.extent("x.1") < 8 else s


def never(s: Schedule, knob: Knobs) -> Any:
    x = knob.split("x", 64, 2)
    knob.require(x[1] > 64)
    return s.split("x", x)


def strays(s: Schedule, knob: Knobs) -> Any:
    two(s, knob)
    return Schedule(tw.compute("other", (64,), lambda x: A[x] * 2.0))


def strays_sometimes(s: Schedule, knob: Knobs) -> Any:
    return strays(s, knob) if knob.flag("stray") else two(s, knob)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (strays, "returned a schedule of another expression, 'other'"),
        (strays_sometimes, "returned a schedule of another expression, 'other'"),
        (forgets, "'forgets' of out 64 returned None .* `return s`"),
        (branches, r"'branches' of out 64 branches on a size knob .* knob.choice.* knob.require"),
        (branches_on_an_extent, "'branches_on_an_extent' of out 64 branches on a size knob"),
        (never, "requirements of the template of out 64"),
        (lambda: None, r"is no template: give a function of \(s, knob\)"),
        (lambda s: s, r"is no template: give a function of \(s, knob\)"),
        (lambda a, b, c, d: (a, b, c, d), r"is no template: give a function of \(s, knob\)"),
        (3, "'3' is no template"),
    ],
)
def test_slips_in_templates_are_explained(template: Any, said: str):
    with pytest.raises(SpaceError, match=said):
        tune(Task(OUT, template=template), trials=8, measure=Toy(), search=RANDOM)
