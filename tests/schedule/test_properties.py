"""What holds of every legal schedule: it means the same, it prints, it can be written down."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from tests.differential import check_interpreted
from tests.schedule.programs import matmul
from tests.strategies import expressions, schedules

from tilewright import Schedule, Tensor
from tilewright.codegen.llvm.regions import chain_of_parallel
from tilewright.errors import ScheduleError
from tilewright.loops.nodes import loops
from tilewright.schedule.places import ELSEWHERE, NAMES
from tilewright.schedule.schedule import PRIMITIVES

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


@slow
@given(schedules(steps=10))
def test_every_parallel_loop_is_shared(schedule: Schedule) -> None:
    """What code generation shares among threads is all that is marked so."""
    marked = {loop.name for loop in loops(schedule.loops.body) if loop.kind == "parallel"}
    tops = [node for node in schedule.loops.body if getattr(node, "kind", "") == "parallel"]
    shared = {loop.name for top in tops for loop in chain_of_parallel(top)[0]}  # type: ignore[arg-type]
    assert shared == marked


@pytest.mark.parametrize("name", PRIMITIVES)
def test_recorded_names_have_places(name: str) -> None:
    """A field that is text, or several texts, names something of the nest, and says what."""
    fields = PRIMITIVES[name].__dataclass_fields__
    for field in fields.values():
        known = field.name in NAMES or field.name in ELSEWHERE
        assert "str" not in str(field.type) or known, f"add {field.name!r} to NAMES"


def test_steps_recorded_without_places_are_applied_by_name() -> None:
    s = Schedule(matmul()).split("y", (4, 4)).parallel("y.0").pack("W")
    steps = [{k: v for k, v in step.items() if k != "places"} for step in s.to_json()]
    assert Schedule.from_json(s.output, steps) == s


@pytest.mark.parametrize("place", [99, -1, "y", [0, 99], None])
def test_places_that_are_not_there_are_refused(place: object) -> None:
    step = {"step": "Unroll", "loop": "y", "places": {"loop": place}}
    with pytest.raises(ScheduleError, match=r"cannot find loop .* there are 3, y, x, k"):
        Schedule.from_json(matmul(), [step])
