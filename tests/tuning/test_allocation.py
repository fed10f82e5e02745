"""The next trials go where most time of the whole is to be won."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
from tests.tuning import simulated
from tests.tuning.simulated import Network, Simulated, spent
from tests.tuning.toys import Toy

from tilewright.ops.dense import Dense
from tilewright.ops.elementwise import Relu, Transpose
from tilewright.records import Failed, Measured, Outcome
from tilewright.records.store import Records
from tilewright.search import RandomSearch
from tilewright.tuning.allocation import Outlook, next_batch, roofline
from tilewright.tuning.events import Event
from tilewright.tuning.session import LEAST, Session
from tilewright.tuning.task import Task
from tilewright.tuning.tune import tune

EVEN = Toy(lambda _: Measured((1e-3,)))


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


def chosen(sessions: Sequence[Session], peak: float | None = None) -> Session | None:
    """Return whose turn it is once the eighth for first trials is spent."""
    found = next_batch(sessions, peak, batch=16, spent=0.5)
    return None if found is None else found[0]


def test_what_was_never_measured_gets_one_trial_first():
    old, new = session(100, [1.0] * 16), session()
    assert next_batch([old, new], batch=16) == (new, 1)
    assert next_batch([old, new], batch=16, spent=0.12) == (new, 1)
    assert next_batch([old, new], batch=16, spent=0.13) == (old, 16)


def test_a_task_alone_begins_with_a_batch():
    only = session()
    assert next_batch([only], batch=16) == (only, 16)


def test_more_weight_means_more_trials():
    light, heavy = session(1, [1.0] * 16), session(7, [1.0] * 16)
    assert chosen([light, heavy]) is heavy
    assert chosen([heavy, light]) is heavy


def test_what_is_near_the_peak_can_wait():
    near, far = session(1, [1.0] * 16), session(1, [1.0] * 16)
    near.best = 1.01
    outlook = Outlook(near.task.flops / 1.0, 2.0)
    assert outlook.gain(near, 8) < Outlook(near.task.flops * 4.0, 2.0).gain(far, 8)


def test_what_moves_bytes_as_fast_as_it_can_is_near_the_peak():
    task = Task(Relu(1 << 20))
    assert roofline(task, 1e11) > 10 * task.flops / 1e11
    assert roofline(task, 1e11) == 0.5 * roofline(task, 5e10)
    assert roofline(Task(Dense(256, 256, 256)), 1e11) == 2 * 256**3 / 1e11


def test_progress_is_followed():
    stuck, moving = session(1, [1.0] * 64), session(1, [3.0] * 32 + [1.0] * 32)
    assert chosen([stuck, moving]) is moving


def test_gains_fall_as_trials_add_up_and_with_those_that_win_nothing():
    gains = [Outlook(None, 2.0).gain(session(1, [1.0] * n), 32) for n in (1, 8, 32, 96)]
    assert gains == sorted(gains, reverse=True)
    assert gains[0] > 0.1
    assert gains[-1] < 0.005


def test_a_gain_is_never_more_than_the_time():
    leap = session(1, [9.0, 9.0, 9.0, 1e-3])
    assert 0 < Outlook(1e9, 2.0).gain(leap, 10_000) <= leap.best


def test_the_exhausted_and_the_hopeless_are_left_alone():
    done, hopeless = session(1, [1.0] * 8), session(9, [None] * 64)
    alive = session(1, [1.0] * 8)
    done.exhausted = True
    assert chosen([done, hopeless, alive]) is alive
    assert chosen([done]) is None
    assert chosen([]) is None


def test_the_heaviest_of_the_unmeasured_comes_first():
    light, heavy, often = session(), session(size=64), session(weight=19)
    moves = session()
    moves.task = Task(Transpose((300, 400), (1, 0)))  # bytes count where there are no operations
    assert moves.task.flops == 0
    order: list[Session] = []
    waiting = [light, moves, heavy, often]
    while waiting:
        turn = next_batch([*order, *waiting], batch=8)
        assert turn is not None
        assert turn[1] == 1
        order.append(turn[0])
        waiting.remove(turn[0])
        turn[0].trials = 1
    assert order == [moves, often, heavy, light]


def test_what_only_fails_is_taken_for_what_the_others_show():
    """Its time is guessed at the pace of what was measured, so it neither waits nor leads."""
    slow, failing = session(1, [1.0] * 8), session(1, [None] * 8)
    outlook = Outlook.of([slow, failing], 1e9)
    assert outlook.time(failing) == pytest.approx(outlook.time(slow))
    assert Outlook.of([failing], 1e9).time(failing) == 2 * roofline(failing.task, 1e9)
    heavy = session(9, [1.0] * 8)
    assert chosen([heavy, failing]) is heavy
    large = session(9, [None] * 16)
    assert chosen([slow, large]) is large


@pytest.mark.parametrize("batch", [1, 4, 32])
@pytest.mark.parametrize("tasks", [1, 3, 17])
@pytest.mark.parametrize("total", [1, 2, 16, 40, 135, 1000, math.inf])
def test_of_few_trials_a_task_gets_few_at_once(total: float, tasks: int, batch: int):
    sessions = [Simulated(1e8) for _ in range(tasks)]
    for each in sessions:
        each.run(1)
    turn = next_batch(sessions, batch=batch, spent=0.5, total=total)  # type: ignore[arg-type]
    assert turn is not None
    assert min(batch, LEAST) <= turn[1] <= batch
    if total >= 2 * tasks * batch:
        assert turn[1] == batch


@pytest.mark.parametrize("others", [1, 2, 4, 9])
@pytest.mark.parametrize("trials", [2, 5, 9, 16, 24, 40, 80])
def test_the_heaviest_gets_its_share_of_few_trials(trials: int, others: int):
    """However few they are, a heavy task does not fall behind light ones."""
    heavy = Task(Dense(64, 64, 64), weight=10)
    light = [Task(Dense(32 + 2 * n, 64, 64)) for n in range(others)]
    result = tune([*light, heavy], trials=trials, measure=EVEN, search=RandomSearch())
    *rest, most = (s.trials for s in result.sessions)
    assert sum(rest) + most == trials
    assert most >= 0.4 * trials, (most, rest)
    assert most == max(most, *rest)


def test_few_trials_go_to_the_heaviest():
    tasks = [Task(Dense(8 * n, 16, 16)) for n in range(1, 8)]
    events: list[Event] = []
    result = tune(tasks, trials=60, measure=EVEN, search=RandomSearch(), watch=events.append)
    assert all(s.trials for s in result.sessions)
    assert [e.session.task.work for e in events[:7]] == [t.work for t in reversed(tasks)]
    starved = tune(tasks, trials=3, measure=EVEN, search=RandomSearch())
    assert [s.trials for s in starved.sessions] == [0, 0, 0, 0, 0, 0, 3]


def test_crumbs_get_no_more_than_what_would_run_untuned():
    network = simulated.with_crumbs()
    spent(simulated.ours, network, 1000)
    crumbs, heavy = network[:-6], network[-6:]
    assert max(each.trials for each in crumbs) == 1
    assert sum(each.trials for each in heavy) >= 1000 - len(crumbs)
    few = simulated.with_crumbs()
    spent(simulated.ours, few, 100)
    assert few[-1].trials == max(each.trials for each in few)
    assert sum(each.trials for each in few[-6:]) >= 88


@pytest.mark.parametrize("trials", [20, 60, 150, 400, 1000])
@pytest.mark.parametrize(
    ("made", "saved"),
    [(simulated.convolutions, 0.7), (simulated.with_crumbs, 0.2), (simulated.alike, 1.2)],
)
def test_trials_go_nearly_where_an_oracle_would_put_them(
    made: Callable[[], Network], saved: float, trials: int
):
    """Within 5 % of who knows all curves; where equal shares end after a part of their trials."""
    best = spent(simulated.oracle, made(), trials)[-1]
    ours = spent(simulated.ours, made(), trials)
    equal = spent(simulated.equal, made(), trials)[-1]
    assert ours[-1] <= 1.05 * best
    reached = next((n for n, time in enumerate(ours, 1) if time <= equal), 1.01 * trials)
    assert reached <= saved * trials
