"""A run ends with its trials, with its seconds, or when going on no longer pays."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.tuning.simulated import PEAK
from tests.tuning.toys import Toy, by_text, configs, failing

from tilewright.errors import ArgumentError
from tilewright.measure.build import Request
from tilewright.ops.dense import Dense
from tilewright.ops.elementwise import Add, Relu
from tilewright.records import Measured, Outcome
from tilewright.records.store import Records
from tilewright.search import RandomSearch
from tilewright.tuning.budget import LEAST_GAIN, Budget, Meter
from tilewright.tuning.events import Event, ignore
from tilewright.tuning.finalists import MOST
from tilewright.tuning.session import Session
from tilewright.tuning.spend import spend
from tilewright.tuning.task import Task
from tilewright.tuning.tune import tune

RANDOM = RandomSearch()
TASKS = (Task(Dense(48, 64, 64), weight=4), Task(Dense(32, 32, 32)), Task(Dense(16, 64, 16)))


@dataclass
class Clock:
    """Tells a time that passes only when something is measured."""

    seconds: float = 100.0

    def __call__(self) -> float:
        return self.seconds

    def taking(self, seconds: float) -> Callable[[Request], Outcome]:
        def answer(request: Request) -> Outcome:
            self.seconds += seconds
            return by_text(request)

        return answer


def spending(budget: Budget, clock: Clock, toy: Toy, watch: Any = ignore) -> list[Session]:
    sessions = [Session.open(task, RANDOM, Records(":memory:"), 0) for task in TASKS]
    spend(sessions, budget.start(clock), toy, batch=32, peak=PEAK, watch=watch)
    return sessions


@pytest.mark.parametrize("seconds", [3.0, 20.0, 90.0])
def test_seconds_end_a_run_between_two_candidates(seconds: float):
    clock, events = Clock(), list[Event]()
    toy = Toy(clock.taking(1.0))
    sessions = spending(Budget(seconds=seconds), clock, toy, events.append)
    assert seconds - MOST - 1 <= toy.measured <= seconds
    assert events[-1].done == sum(s.trials for s in sessions) >= 0.9 * seconds - 1
    assert {e.total for e in events} == {None}
    left = [e.left for e in events]
    assert left == [seconds - n for n in range(1, len(events) + 1)]


def test_what_was_measured_before_the_seconds_were_over_is_on_record():
    clock = Clock()
    sessions = spending(Budget(seconds=41.5), clock, Toy(clock.taking(1.0)))
    for session in sessions:
        kept = session.records.trials(session.task.key, session.task.where)
        assert len(kept) == session.trials == len(session.curve)
    assert sum(s.trials for s in sessions) >= 36


def test_a_slow_candidate_is_the_last():
    clock = Clock()
    spending(Budget(seconds=30.0), clock, Toy(clock.taking(20.0)))
    assert clock.seconds == 140.0


def test_of_trials_and_seconds_the_first_to_end_counts():
    for trials, seconds, wanted in ((10, 1000.0, 10), (1000, 10.0, 9)):
        clock = Clock()
        sessions = spending(Budget(trials, seconds), clock, Toy(clock.taking(1.0)))
        assert sum(s.trials for s in sessions) == wanted


def improving(steps: int) -> Toy:
    """Each task's candidates get faster by a quarter, so many times, and then no more."""
    seen: dict[str, int] = {}

    def answer(request: Request) -> Outcome:
        key = request.expression.digest
        seen[key] = seen.get(key, 0) + 1
        noise = zlib.crc32(str(request.nest).encode()) / 2**32
        work = request.expression.flops / PEAK
        return Measured((work * (1.5 + 0.75 ** min(steps, seen[key] // 8) + 1e-3 * noise),))

    return Toy(answer)


def test_a_run_without_a_budget_goes_on_until_it_stops_paying():
    counts: list[int] = []
    for steps in (0, 24):
        events: list[Event] = []
        result = tune(
            TASKS, measure=improving(steps), search=RANDOM, peak=PEAK, watch=events.append
        )
        counts.append(sum(s.trials for s in result.sessions))
        assert min(s.trials for s in result.sessions) >= 1
        heaviest = result.sessions[0]
        assert heaviest.trials == max(s.trials for s in result.sessions) > 32
        assert {(e.total, e.left) for e in events} == {(None, None)}
        promises = [e.promise for e in events]
        assert promises[-1] < 4 * LEAST_GAIN < promises[0]
    assert counts[0] < counts[1] < 1000
    again = tune(TASKS, measure=improving(0), search=RANDOM, peak=PEAK, least_gain=0.1)
    assert sum(s.trials for s in again.sessions) < counts[0]


def test_a_run_that_stopped_paying_has_nothing_to_resume():
    records = Records(":memory:")
    tune(TASKS, measure=improving(2), search=RANDOM, peak=PEAK, records=records)
    known = sum(len(configs(records, task)) for task in TASKS)
    toy = improving(2)
    tune(TASKS, measure=toy, search=RANDOM, peak=PEAK, records=records)
    assert toy.measured == 0
    new = Task(Dense(8, 8, 8))
    result = tune([*TASKS, new], measure=toy, search=RANDOM, peak=PEAK, records=records)
    assert result.sessions[-1].trials >= 1, "a task that is new is tried at least once"
    assert sum(len(configs(records, task)) for task in TASKS) == known


def test_what_only_fails_does_not_pay_for_ever():
    result = tune(TASKS, measure=Toy(failing), search=RANDOM, peak=PEAK)
    assert sum(s.trials for s in result.sessions) <= 3 * (64 + 32)


def test_a_least_gain_ends_runs_of_many_trials_too():
    toy = improving(0)
    tune(TASKS[0], trials=5000, measure=toy, search=RANDOM, peak=PEAK, least_gain=0.02)
    assert toy.measured < 500


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"trials": -3}, r"-3 trials.*not negative"),
        ({"trials": 2.5}, r"2\.5 trials"),
        ({"trials": True}, "True trials"),
        ({"seconds": 0}, "for 0 seconds: give a number above 0"),
        ({"seconds": -1.5}, r"for -1\.5 seconds"),
        ({"seconds": float("inf")}, "for inf seconds"),
        ({"seconds": 10**400}, "for 1000"),
        ({"least_gain": 10**400}, "least_gain=1000"),
        ({"seconds": float("nan")}, "for nan seconds"),
        ({"seconds": "60"}, "for '60' seconds"),
        ({"seconds": True}, "for True seconds"),
        ({"least_gain": 0}, "least_gain=0: give the share"),
        ({"least_gain": 1}, "least_gain=1"),
        ({"least_gain": "0.1"}, r"least_gain='0\.1'"),
    ],
)
def test_budgets_that_cannot_be(given: dict[str, Any], said: str):
    with pytest.raises(ArgumentError, match=said):
        tune(TASKS, **given)


def test_only_a_run_that_nothing_else_ends_has_to_pay():
    assert Budget().least_gain == LEAST_GAIN
    assert Budget(trials=10).least_gain is Budget(seconds=1.0).least_gain is None
    assert Budget(seconds=1.0, least_gain=0.1).least_gain == 0.1


def metered(budget: Budget, done: int, elapsed: float) -> Meter:
    clock = Clock()
    meter = budget.start(clock)
    clock.seconds += elapsed
    meter.done = done
    return meter


def test_a_meter_tells_what_is_left_at_the_pace_so_far():
    both = metered(Budget(trials=100, seconds=60.0), done=20, elapsed=30.0)
    assert (both.spent, both.total, both.seconds_left) == (0.5, 40, 30.0)
    many = metered(Budget(trials=100), done=20, elapsed=30.0)
    assert (many.spent, many.total, many.seconds_left) == (0.2, 100, 120.0)
    none = metered(Budget(), done=20, elapsed=30.0)
    assert (none.spent, none.total, none.seconds_left) == (0.0, float("inf"), None)
    assert (many.room(200), none.room(200), many.over(), none.over()) == (80, 200, False, False)
    assert metered(Budget(trials=0), 0, 0.0).over()


def test_some_of_the_seconds_are_kept_to_confirm():
    meter = metered(Budget(seconds=100.0), done=10, elapsed=93.0)
    assert not meter.over(5.0)
    assert meter.over(8.0)
    assert not metered(Budget(seconds=100.0), 10, 89.0).over(50.0), "a tenth at most"


def test_equal_work_of_other_names_is_tuned_once_with_all_the_weight():
    """Names are no part of the work; a target or a number of threads is."""
    named = [Task(Add((4, 8), (4, 8)), weight=2), Task(Add((32,), (32,)), weight=3)]
    assert named[0].name != named[1].name
    assert named[0].key == named[1].key
    (only,) = tune(named, trials=6, measure=Toy(), search=RANDOM).sessions
    assert (only.task.weight, only.task.name, only.fresh) == (5, named[0].name, only.trials)
    apart = [Task(Relu(64)), Task(Relu(64), threads=2), Task(Relu(64), cold=True)]
    assert len(tune(apart, trials=0).sessions) == 3
    assert len(tune(apart, trials=0, threads=2).sessions) == 2
