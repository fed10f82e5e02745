"""Equal work has one digest, whatever it is called; other work has another; none changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from tests.differential import check_interpreted
from tests.expr.renamed import backwards, renamed
from tests.strategies import expressions, schedules

import tilewright as tw
from tilewright import Schedule, Tensor
from tilewright.expr.affine import Affine
from tilewright.expr.scalar import Const, Scalar, Table, Within
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.ops.pool2d import Pool2d

quick = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@pytest.mark.parametrize(
    ("operator", "digest"),
    [
        (Dense(8, 16, 32, bias=True, relu=True), "edfc69583be78ea2c3e9"),
        (
            Conv2d(1, 9, 9, 8, 16, (3, 3), (2, 2), (1, 1, 1, 1), residual=True),
            "c579c148ca40239c6184",
        ),
        (Pool2d("average", 1, 8, 8, 4, (3, 3), pads=(1, 1, 1, 1)), "6f1074c6d5ff89e32b10"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_digests_stay(operator: Any, digest: str) -> None:
    """Records are kept under these: where one changes, every database loses what it holds.

    If it has to be, count up `VERSION` in expr/canonical.py and write a decision that says why.
    """
    assert operator.expression().digest == digest


@quick
@given(expressions())
def test_names_do_not_matter(output: Tensor) -> None:
    assert renamed(output, lambda n: f"my {n}", lambda n: f"{n}.0").canonical == output.canonical
    assert backwards(output).digest == output.digest


@quick
@given(schedules())
def test_recorded_steps_fit_equal_work(schedule: Schedule) -> None:
    """Steps recorded under some names make the same nest under others, even if these are swapped.

    Names that the steps themselves would give are another thing: "y.0" may be taken.
    """
    steps = schedule.to_json()
    for other in (backwards(schedule.output), renamed(schedule.output, "t{}".format, "i{}".format)):
        again = Schedule.from_json(other, steps)
        check_interpreted(again)
        assert shape(again) == shape(schedule)
        assert Schedule.from_json(schedule.output, again.to_json()) == schedule


def shape(schedule: Schedule) -> list[Any]:
    """Return what a nest is, its names left out."""
    from tilewright.loops.nodes import loops, walk

    nest = schedule.loops
    buffers = [(b.shape, b.dtype, b.scope) for b in nest.buffers]
    kinds = [(x.extent, x.kind, x.reduce, len(x.body)) for x in loops(nest.body)]
    return [buffers, kinds, [(len(outer), b.reduce) for outer, b in walk(nest.body)]]


def test_how_expressions_print_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    output = Conv2d(1, 9, 9, 8, 16, (3, 3), pads=(1, 1, 1, 1), relu=True).expression()
    before = output.digest
    for kind in (*Scalar.__subclasses__(), Affine):
        monkeypatch.setattr(kind, "__str__", lambda _: "nothing")
    assert output.digest == before


A = tw.tensor("A", (4, 8))
N = tw.tensor("N", (4,), "int32")
K = tw.reduce_axis("k", 8)
Make = Callable[[], Tensor]

DIFFERENT: dict[str, Make] = {
    "a load": lambda: tw.compute("X", (4,), lambda i: A[i, 0]),
    "elsewhere": lambda: tw.compute("X", (4,), lambda i: A[i, 1]),
    "of a constant": lambda: tw.compute(
        "X", (4,), lambda i: tw.tensor("A", (4, 8), constant=True)[i, 0]),
    "of a larger tensor": lambda: tw.compute("X", (4,), lambda i: tw.tensor("A", (5, 8))[i, 0]),
    "of another type": lambda: tw.compute(
        "X", (4,), lambda i: tw.tensor("A", (4, 8), "float64")[i, 0]),
    "computed": lambda: tw.compute("X", (4, 8), lambda y, x: A[y, x]),
    "transposed": lambda: tw.compute("X", (8, 4), lambda x, y: A[y, x]),
    "scaled": lambda: tw.compute("X", (4,), lambda i: A[i, 0] * 2.0),
    "scaled more": lambda: tw.compute("X", (4,), lambda i: A[i, 0] * 3.0),
    "scaled a little more": lambda: tw.compute("X", (4,), lambda i: A[i, 0] * (2.0 + 4e-16)),
    "added to": lambda: tw.compute("X", (4,), lambda i: A[i, 0] + 2.0),
    "subtracted": lambda: tw.compute("X", (4,), lambda i: A[i, 0] - 2.0),
    "subtracted from": lambda: tw.compute("X", (4,), lambda i: 2.0 - A[i, 0]),
    "zero": lambda: tw.compute("X", (4,), lambda i: A[i, 0] + 0.0),
    "minus zero": lambda: tw.compute("X", (4,), lambda i: A[i, 0] + -0.0),
    "a sum": lambda: tw.compute("X", (4,), lambda i: tw.sum(A[i, K], over=K)),
    "a greatest": lambda: tw.compute("X", (4,), lambda i: tw.max(A[i, K], over=K)),
    "chosen": lambda: tw.compute("X", (4,), lambda i: tw.select(i < 2, A[i, 0], 0.0)),
    "chosen later": lambda: tw.compute("X", (4,), lambda i: tw.select(i < 3, A[i, 0], 0.0)),
    "chosen otherwise": lambda: tw.compute("X", (4,), lambda i: tw.select(i >= 2, A[i, 0], 0.0)),
    "cast": lambda: tw.compute("X", (4,), lambda i: tw.cast("float32", N[i])),
    "cast to another": lambda: tw.compute("X", (4,), lambda i: tw.cast("float64", N[i])),
    "two equal inputs": lambda: tw.compute(
        "X", (4,), lambda i: A[i, 0] + tw.tensor("B", (4, 8))[i, 0]),
    "one input twice": lambda: tw.compute("X", (4,), lambda i: A[i, 0] + A[i, 0]),
    "an integer": lambda: tw.compute("X", (4,), lambda i: N[i] + 2),
    "an index": lambda: tw.compute("X", (4,), lambda i: N[i] + tw.cast("int32", i * 2)),
    "a table": lambda: tw.compute("X", (2,), lambda i: table((1.0, 2.0), i) * A[i, 0]),
    "a table of other values": lambda: tw.compute(
        "X", (2,), lambda i: table((1.0, 3.0), i) * A[i, 0]),
}  # fmt: skip


CONDITIONS: dict[str, Callable[[tw.Axis], Scalar]] = {
    "far, as is": lambda i: i >= 2,
    "far, above": lambda i: i > 1,
    "far, moved": lambda i: i - 1 >= 1,
    "far, by hand": lambda i: Within(i - 2, 0, 1 << 60),
    "near, as is": lambda i: Within(i.affine, 1, 3),
    "near, moved down": lambda i: Within(i - 1, 0, 2),
    "near, moved up": lambda i: Within(i + 5, 6, 8),
}


def chosen(holds: Callable[[tw.Axis], Scalar]) -> Tensor:
    return tw.compute("X", (4,), lambda i: tw.select(holds(i), A[i, 0], 0.0))


def test_a_condition_has_one_form_wherever_its_constant_stands() -> None:
    forms: dict[str, set[str]] = {"far": set(), "near": set()}
    for name, holds in CONDITIONS.items():
        forms[name.split(",")[0]].add(chosen(holds).canonical)
    assert [len(found) for found in forms.values()] == [1, 1]


def table(values: tuple[float, ...], at: tw.Axis) -> Scalar:
    return Table("T", values, (len(values),), (at.affine,), "float32")


def test_different_work_has_different_digests() -> None:
    found: dict[str, str] = {}
    for name, make in DIFFERENT.items():
        same = found.setdefault(make().canonical, name)
        assert same == name, f"{name!r} and {same!r} have one canonical form"


def test_titles_and_templates_do_not_matter() -> None:
    output = DIFFERENT["a sum"]()
    assert replace(output, title="mine", template=print).digest == output.digest


@pytest.mark.parametrize("value", [0.1, float("inf"), float("nan"), 1e-45, np.float64(0.1)])
def test_every_float_has_one_form(value: float) -> None:
    forms = {
        tw.compute("X", (4,), lambda i: A[i, 0] * Const(value, "float32")).canonical
        for _ in range(2)
    }
    assert len(forms) == 1


def test_what_has_no_form_is_refused() -> None:
    """A new kind of scalar has to be given one: silence would let different work share records."""

    @dataclass(frozen=True, slots=True)
    class Odd(Scalar):
        dtype: str = "float32"

    with pytest.raises(NotImplementedError, match="no canonical form for Odd"):
        _ = tw.compute("X", (4,), lambda _: Odd()).canonical
