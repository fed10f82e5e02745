"""Tuning spends its budget, repeats nothing, loses nothing, and comes to an end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.tuning.toys import Toy, configs, failing

import tilewright as tw
from tilewright.errors import ArgumentError
from tilewright.measure.build import Request
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.ops.elementwise import Add, Relu, Transpose
from tilewright.records import Measured, Outcome, Trial
from tilewright.records.store import Records
from tilewright.runtime.build import build
from tilewright.search import Annealing, Guided, RandomSearch
from tilewright.search.problem import Problem, Search, Searcher
from tilewright.space.space import Population
from tilewright.tuning.events import Event
from tilewright.tuning.session import Session
from tilewright.tuning.task import Task
from tilewright.tuning.tune import tune

RANDOM = RandomSearch()
GUIDED = Guided(optimiser=Annealing(chains=64, steps=8))
SMALL = (Relu(1), Relu(48), Relu(1000), Transpose((3, 4, 5), (2, 0, 1)))
MATMUL = Dense(32, 48, 40)
CONV = Conv2d(1, 9, 9, 8, 16, (3, 3), pads=(1, 1, 1, 1), bias=True, relu=True)


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    with Records(tmp_path / "tuning.db") as records:
        yield records


@pytest.mark.parametrize("operator", [MATMUL, CONV], ids=lambda o: o.name)
def test_tuning_for_real(operator: Dense | Conv2d, records: Records):
    """Guided search on this machine: what it finds is right, and no slower than anything tried."""
    task = Task(operator)
    result = tune(task, trials=36, records=records, batch=12)
    assert len(configs(records, task)) == len(set(configs(records, task))) == 36
    assert not result.failures
    assert len(result.curve) == 36
    assert result.curve == sorted(result.curve, reverse=True)
    rng = np.random.default_rng(0)
    kernel = build(result.best)
    given = {b.name: rng.standard_normal(b.shape).astype(b.dtype) for b in kernel.inputs}
    wanted = build(tw.Schedule(task.expression))
    np.testing.assert_allclose(
        kernel(*given.values(), threads=1),
        wanted(*(given[b.name] for b in wanted.inputs), threads=1),
        rtol=1e-4,
        atol=1e-4,
    )


def test_a_resumed_run_repeats_nothing(records: Records):
    task = Task(MATMUL)
    for done in (20, 40, 60):
        tune(task, trials=20, records=records, search=RANDOM, measure=Toy(), batch=8)
        assert len(configs(records, task)) == len(set(configs(records, task))) == done


def test_the_search_is_told_what_is_on_record(records: Records):
    told: list[int] = []

    class Listener:
        def start(self, problem: Problem, rng: np.random.Generator) -> Searcher:
            inner = RANDOM.start(problem, rng)

            class Heard:
                def ask(self, n: int) -> Population:
                    return inner.ask(n)

                def tell(self, rows: Population, scores: NDArray[np.float64]) -> None:
                    assert len(rows) == len(scores)
                    assert np.isfinite(scores).all()
                    told.append(len(rows))
                    inner.tell(rows, scores)

            return Heard()

    for _ in range(2):
        tune(Task(MATMUL), trials=24, records=records, search=Listener(), measure=Toy(), batch=12)
    assert told == [12, 12, 24, 12, 12]


def test_the_same_seed_proposes_the_same(tmp_path: Path):
    runs: list[list[str]] = []
    for run, seed in enumerate((0, 0, 1)):
        with Records(tmp_path / f"{run}.db") as records:
            task = Task(CONV)
            tune(task, trials=36, records=records, measure=Toy(), seed=seed, batch=12)
            runs.append(configs(records, task))
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_no_trials_are_no_work(records: Records):
    toy = Toy()
    result = tune(Task(MATMUL), trials=0, records=records, measure=toy)
    assert (toy.measured, result.curve, result.failures) == (0, [], {})
    assert str(result.best.loops) == str(Task(MATMUL).fallback().loops)


def test_impossible_budgets_are_refused():
    with pytest.raises(ArgumentError, match=r"-3 trials.*not negative"):
        tune(Task(MATMUL), trials=-3)
    with pytest.raises(ArgumentError, match=r"batches of 0.*at least 1"):
        tune(Task(MATMUL), trials=3, batch=0)
    with pytest.raises(ArgumentError, match=r"seed -1.*not negative"):
        tune(Task(MATMUL), trials=3, seed=-1)


def test_many_tasks_share_one_budget(records: Records):
    tasks = [Task(CONV), Task(MATMUL, weight=5), Task(Dense(16, 16, 16))]
    events: list[Event] = []
    result = tune(
        tasks, trials=70, records=records, search=RANDOM, measure=Toy(), batch=8,
        watch=events.append,
    )  # fmt: skip
    assert [e.done for e in events] == list(range(1, 71))
    assert {e.total for e in events} == {70}
    counts = [len(configs(records, task)) for task in tasks]
    assert sum(counts) == 70
    assert min(counts) >= 8
    assert counts[1] > counts[0]
    assert [s.trials for s in result.sessions] == counts


def test_equal_work_is_one_task(records: Records):
    """Operators that compute the same are tuned once, with all the weight."""
    tasks = [Task(Add((4, 8), (4, 8)), weight=2), Task(Add((32,), (32,))), Task(Relu(8))]
    result = tune(tasks, trials=30, records=records, search=RANDOM, measure=Toy(), batch=4)
    assert [s.task.weight for s in result.sessions] == [3, 1]
    for session in result.sessions:
        found = configs(records, session.task)
        assert len(found) == len(set(found))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("search", [RANDOM, GUIDED], ids=["random", "guided"])
@pytest.mark.parametrize("operator", SMALL, ids=lambda o: o.name)
def test_an_exhausted_space_ends_the_run(
    records: Records, operator: Relu | Transpose, search: Search, seed: int
):
    """Every candidate was measured, and once."""
    task = Task(operator)
    every = task.space.sample(np.random.default_rng(0), 10_000)
    result = tune(
        task, trials=10_000, records=records, search=search, measure=Toy(), batch=4, seed=seed
    )
    assert len(configs(records, task)) == len(set(configs(records, task))) == len(every)
    assert result.sessions[0].exhausted
    again = Toy()
    tune(task, trials=10, records=records, search=search, measure=again, batch=4)
    assert again.measured == 0


def test_an_exhausted_task_leaves_its_budget_to_others(records: Records):
    small, large = Task(Relu(1)), Task(MATMUL)
    tune([small, large], trials=60, records=records, search=RANDOM, measure=Toy(), batch=8)
    assert len(configs(records, small)) + len(configs(records, large)) == 60


def test_a_network_without_operators_is_no_work():
    class Empty:
        def tasks(self) -> list[Task]:
            return []

    toy = Toy()
    assert tune(Empty(), trials=10, measure=toy).sessions == ()
    assert toy.measured == 0


def test_failures_are_counted_and_the_run_goes_on(records: Records):
    task = Task(MATMUL)
    result = tune(task, trials=24, records=records, search=RANDOM, measure=Toy(failing), batch=8)
    assert result.failures == {"run crash": 24}
    assert result.sessions[0].first_messages == {"run crash": "it never works."}
    assert str(result.best.loops) == str(task.fallback().loops)
    tune(task, trials=16, records=records, measure=Toy(failing), batch=8)
    assert len(set(configs(records, task))) == 40


def test_the_best_time_known_goes_with_each_request(records: Records):
    toy = Toy()
    tune(Task(MATMUL), trials=24, records=records, search=RANDOM, measure=toy, batch=8)
    assert toy.best[0] is None
    known = [best for best in toy.best[8:24] if best is not None]
    assert len(known) == 16
    assert known == sorted(known, reverse=True)


def test_records_of_another_space_are_no_obstacle(records: Records):
    """What another template measured counts as known, but is neither told nor in the way."""
    task = Task(MATMUL)
    key, target = task.key, task.target.key
    records.register(key, target, task.name, 1.0)
    good = task.space.default()
    bad = {**good.to_json(), "x_": [1, 1, 3]}
    steps = [{"step": "Split", "loop": "nowhere", "factors": [2, 2]}]
    records.add(
        [
            Trial(key, target, {"unknown": 1}, steps, Measured((1e-9,))),
            Trial(key, target, bad, steps, Measured((1e-9,))),
        ]
    )
    result = tune(task, trials=16, records=records, search=RANDOM, measure=Toy(), batch=8)
    assert len(configs(records, task)) == 18
    assert result.sessions[0].best > 1e-6
    best = min(result.sessions[0].curve)
    assert records.best(key, target) is not None
    assert str(result.best.loops) != str(tw.Schedule(task.expression).loops)
    assert str(result.best.loops) == str(
        next(task.recorded(t) for t in records.trials(key, target) if t.seconds == best).loops
    )


def test_a_run_that_raises_keeps_what_was_measured(records: Records):
    def breaking(request: Request) -> Outcome:
        if toy.measured == 11:
            raise OSError("the board is gone")
        return Toy().answer(request)

    toy = Toy(breaking)
    with pytest.raises(OSError, match="the board is gone"):
        tune(Task(MATMUL), trials=24, records=records, search=RANDOM, measure=toy, batch=8)
    assert len(configs(records, Task(MATMUL))) == 10


def test_what_was_best_on_one_thread_is_tried_first_on_two() -> None:
    work = Conv2d(1, 9, 9, 8, 16, (3, 3), pads=(1, 1, 1, 1))
    with Records(":memory:") as records:
        alone = tune(Task(work), trials=24, records=records, measure=Toy(), seed=1)
        both = tune(Task(work, threads=2), trials=8, records=records, measure=Toy(), seed=2)
        (one,), (two,) = alone.sessions, both.sessions
        before = records.trials(one.task.key, one.task.where)
        after = records.trials(two.task.key, two.task.where)
    best = min(before, key=lambda t: t.seconds or 1.0)
    assert dict(best.config) in [dict(t.config) for t in after[:5]]
    assert dict(before[0].config) == dict(after[0].config), "the guess stays the first of all"


def test_what_was_best_on_one_thread_is_tried_even_if_one_trial_comes_first() -> None:
    work = Conv2d(1, 9, 9, 8, 16, (3, 3), pads=(1, 1, 1, 1))
    task = Task(work, threads=2)
    with Records(":memory:") as records:
        tune(Task(work), trials=24, records=records, search=RANDOM, measure=Toy(), seed=1)
        best = records.fastest(task.key, Task(work).where, 1)[0]
        session = Session.open(task, RANDOM, records, 0)
        for count in (1, 8):
            list(session.run(session.propose(count), Toy()))
        after = records.trials(task.key, task.where)
    assert len(after) == 9
    assert dict(best.config) in [dict(t.config) for t in after[:6]]


@pytest.mark.parametrize("known", [1, 7, 8])
def test_a_few_trials_do_not_keep_a_search_from_its_first_proposals(known: int) -> None:
    """Guided search begins with what the prior ranks high; it is told of a few trials after that.

    With enough on record it learns from them first.
    """
    task, calls = Task(MATMUL), list[tuple[str, int]]()

    class Heard:
        def __init__(self, inner: Searcher) -> None:
            self.inner = inner

        def ask(self, n: int) -> Population:
            calls.append(("ask", n))
            return self.inner.ask(n)

        def tell(self, rows: Population, scores: NDArray[np.float64]) -> None:
            calls.append(("tell", len(rows)))
            self.inner.tell(rows, scores)

    class Listener:
        def start(self, problem: Problem, rng: np.random.Generator) -> Searcher:
            return Heard(RANDOM.start(problem, rng))

    with Records(":memory:") as records:
        tune(task, trials=known, records=records, search=RANDOM, measure=Toy(), batch=8)
        tune(task, trials=16, records=records, search=Listener(), measure=Toy(), batch=8)
        found = configs(records, task)
    assert len(found) == len(set(found)) == known + 16
    asked = calls.index(("ask", 8))
    told = calls.index(("tell", known))
    assert (asked < told) == (known < 8)
    assert sum(n for what, n in calls if what == "tell") == known + 16
