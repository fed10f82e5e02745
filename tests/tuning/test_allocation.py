"""The next trials go where most time of the whole is to be won."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.tuning.toys import Toy

from tilewright.ops.dense import Dense
from tilewright.ops.elementwise import Transpose
from tilewright.records import Failed, Measured, Outcome
from tilewright.records.store import Records
from tilewright.search import RandomSearch
from tilewright.tuning.allocation import expected_gain, next_task, share
from tilewright.tuning.events import Event
from tilewright.tuning.session import Session
from tilewright.tuning.task import Task
from tilewright.tuning.tune import tune


def session(weight: int = 1, seconds: Sequence[float | None] = (), size: int = 32) -> Session:
    """A session with a history: a time for each trial, None where it failed."""
    task = Task(Dense(size, size, size), weight=weight)
    made = Session.open(task, RandomSearch(), Records(":memory:"), 0)
    answers = iter(seconds)

    def answer(_: object) -> Outcome:
        time = next(answers)
        return Failed("run", "crash") if time is None else Measured((time,))

    for _ in made.run(made.propose(len(seconds)), Toy(answer)) if seconds else ():
        pass
    return made


def test_what_was_never_measured_comes_first():
    old, new = session(100, [1.0] * 16), session()
    assert next_task([old, new]) is new


def test_more_weight_means_more_trials():
    light, heavy = session(1, [1.0] * 16), session(7, [1.0] * 16)
    assert next_task([light, heavy]) is heavy
    assert next_task([heavy, light]) is heavy


def test_what_is_near_the_peak_can_wait():
    near, far = session(1, [1.0] * 16), session(1, [1.0] * 16)
    limit = near.task.flops / 1.0
    near.best = 1.01
    assert expected_gain(near, limit) < expected_gain(far, limit * 4)


def test_progress_is_followed():
    stuck, moving = session(1, [1.0] * 64), session(1, [3.0] * 32 + [1.0] * 32)
    assert next_task([stuck, moving]) is moving


def test_the_exhausted_and_the_hopeless_are_left_alone():
    done, hopeless = session(1, [1.0] * 8), session(9, [None] * 64)
    alive = session(1, [1.0] * 8)
    done.exhausted = True
    assert next_task([done, hopeless, alive]) is alive
    assert next_task([done]) is None
    assert next_task([]) is None


def test_the_heaviest_of_the_unmeasured_comes_first():
    light, heavy, often = session(), session(size=64), session(weight=9)
    moves = session()
    moves.task = Task(Transpose((300, 400), (1, 0)))  # bytes count where there are no operations
    assert moves.task.flops == 0
    order: list[Session] = []
    waiting = [light, moves, heavy, often]
    while waiting:
        order.append(next_task(waiting) or light)
        waiting.remove(order[-1])
    assert order == [moves, often, heavy, light]


def test_what_failed_at_first_waits_for_what_was_never_tried():
    failed, new = session(9, [None]), session()
    assert next_task([failed, new]) is new


@pytest.mark.parametrize("batch", [1, 4, 32])
@pytest.mark.parametrize("tasks", [1, 3, 17])
@pytest.mark.parametrize("trials", [1, 2, 3, 16, 17, 18, 40, 135, 136, 1000])
def test_each_task_is_tried_before_any_gets_much(trials: int, tasks: int, batch: int):
    first = share(trials, tasks, batch, first=True)
    later = share(trials, tasks, batch, first=False)
    assert 1 <= first <= batch
    assert 1 <= later <= batch
    assert tasks * first <= max(trials, tasks), "the last task would get nothing"


@pytest.mark.parametrize("others", [1, 2, 4, 9])
@pytest.mark.parametrize("trials", [16, 24, 40, 80, 160])
def test_the_heaviest_gets_its_share_of_few_trials(trials: int, others: int):
    """As budgets grow past one trial for each task, a heavy one does not fall behind light ones."""
    heavy = Task(Dense(64, 64, 64), weight=10)
    light = [Task(Dense(32 + 2 * n, 64, 64)) for n in range(others)]
    even = Toy(lambda _: Measured((1e-3,)))
    result = tune([*light, heavy], trials=trials, measure=even, search=RandomSearch())
    *rest, most = (s.trials for s in result.sessions)
    assert sum(rest) + most == trials
    assert min(rest) >= 1
    assert most >= 0.4 * trials, (most, rest)


def test_a_task_that_only_fails_does_not_take_what_others_could_use():
    heavy, failing, new = (session(9, [1.0] * 8), session(1, [None] * 8), session(1, [None] * 3))
    assert next_task([heavy, failing]) is heavy
    assert next_task([heavy, new]) is new
    light, large = session(1, [1.0] * 8), session(9, [None] * 16)
    assert next_task([light, large]) is large
    left = session(9, [None] * 8)
    left.exhausted = True
    assert next_task([heavy, left]) is heavy


def test_few_trials_reach_all_tasks():
    tasks = [Task(Dense(8 * n, 16, 16)) for n in range(1, 8)]
    events: list[Event] = []
    result = tune(tasks, trials=9, measure=Toy(), search=RandomSearch(), watch=events.append)
    assert all(s.trials for s in result.sessions)
    assert [e.session.task.work for e in events[:7]] == [t.work for t in reversed(tasks)]
    starved = tune(tasks, trials=3, measure=Toy(), search=RandomSearch())
    assert [s.trials for s in starved.sessions] == [0, 0, 0, 0, 1, 1, 1]
