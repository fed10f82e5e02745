"""The next trials go where most time of the whole is to be won."""

from __future__ import annotations

from collections.abc import Sequence

from tests.tuning.toys import Toy

from tilewright.ops.dense import Dense
from tilewright.records import Failed, Measured, Outcome
from tilewright.records.store import Records
from tilewright.search import RandomSearch
from tilewright.tuning.allocation import expected_gain, next_task
from tilewright.tuning.session import Session
from tilewright.tuning.task import Task


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
