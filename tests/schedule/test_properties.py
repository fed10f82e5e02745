"""What holds of every legal schedule: it means the same, it prints, it can be written down."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from tests.differential import check_interpreted
from tests.strategies import expressions, schedules

from tilewright import Schedule, Tensor

slow = settings(
    max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


@slow
@given(expressions())
def test_naive_nest_means_what_the_expression_does(output: Tensor) -> None:
    check_interpreted(Schedule(output))


@slow
@given(schedules())
def test_no_step_changes_the_result(schedule: Schedule) -> None:
    check_interpreted(schedule)


@slow
@given(schedules())
def test_steps_survive_json(schedule: Schedule) -> None:
    steps = json.loads(json.dumps(schedule.to_json()))
    again = Schedule.from_json(schedule.output, steps)
    assert again == schedule
    assert again.loops == schedule.loops
    assert str(again.loops) == str(schedule.loops)
    assert str(schedule.loops).strip()
