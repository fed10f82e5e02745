"""Winograd's method in the space of convolutions: every candidate is right; it can be refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.errors import ExpressionError
from tilewright.expr.interpret import evaluate
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.winograd import TILES as BY_FILTER
from tilewright.records.store import Records
from tilewright.records.trial import Measured, Trial
from tilewright.space.config import Config

OPS = (
    Conv2d(1, 14, 14, 32, 48, (3, 3), pads=(1, 1, 1, 1), bias=True, residual=True, relu=True),
    Conv2d(2, 7, 9, 17, 5, (3, 3), pads=(0, 1, 2, 0), bias=True),
    Conv2d(1, 13, 5, 3, 40, (3, 3)),
    Conv2d(1, 15, 14, 32, 20, (3, 3), (2, 2), (1, 1, 1, 1), bias=True, relu=True),
    Conv2d(2, 8, 23, 5, 33, (3, 3), (2, 2), (0, 1, 2, 0), residual=True),
    Conv2d(1, 20, 19, 32, 24, (4, 4), (2, 2), (1, 1, 1, 1), bias=True, relu=True),
    Conv2d(1, 9, 12, 16, 33, (5, 5), pads=(2, 2, 2, 2)),
    Conv2d(2, 15, 8, 17, 16, (5, 5), (2, 2), (2, 2, 2, 2)),
    Conv2d(1, 8, 7, 24, 16, (2, 2), pads=(0, 0, 1, 1), residual=True),
)
TILES = [(op, tile) for op in OPS for tile in BY_FILTER[op.kernel[0], op.stride[0]]]


@pytest.mark.parametrize(("op", "tile"), TILES, ids=lambda one: getattr(one, "name", None))
def test_every_candidate_is_right_on_any_number_of_threads(op: Conv2d, tile: int) -> None:
    op = replace(op, tolerance=1e-4)
    task, rng = tw.Task(op), np.random.default_rng(tile)
    space, name = task.space, op.expression().name
    data = {t.name: rng.standard_normal(t.shape).astype("f4") for t in op.expression().inputs}
    wanted = evaluate(op.expression(), data)[name]
    rows = space.sample(rng, 400)
    way = [space.config(row)["algorithm"] for row in rows]
    chosen = [row for row, algorithm in zip(rows, way, strict=True) if algorithm[-1] == str(tile)]
    assert len(chosen) >= 4
    for row in chosen[:4]:
        schedule = task.schedule(space.config(row))
        kernel = tw.build(schedule)
        for threads in (1, 2):
            got = kernel(*(data[b.name] for b in kernel.inputs), threads=threads)
            assert np.abs(got - wanted).max() <= (schedule.error + 4e-6) * np.abs(wanted).max()


@pytest.mark.parametrize(
    ("tolerance", "ways"),
    [
        (0.0, {"direct"}),
        (1e-5, {"direct", "winograd2"}),
        (5e-5, {"direct", "winograd2", "winograd4"}),
        (1e-4, {"direct", "winograd2", "winograd4", "winograd6"}),
    ],
)
def test_the_tolerance_decides_which_algorithms_there_are(tolerance: float, ways: set[str]) -> None:
    op = Conv2d(1, 14, 14, 32, 32, (3, 3), pads=(1, 1, 1, 1), tolerance=tolerance)
    space = tw.Task(op).space
    assert set(space.knobs[0].options) == ways


@pytest.mark.parametrize(
    ("op", "ways"),
    [
        (
            Conv2d(1, 20, 20, 32, 64, (4, 4), (2, 2)),
            {"direct", "winograd2", "winograd3", "winograd4"},
        ),
        (
            Conv2d(1, 20, 20, 4, 64, (8, 8), (4, 4)),
            {"direct", "winograd2", "winograd3", "winograd4"},
        ),
        (Conv2d(1, 20, 20, 3, 64, (4, 4), (2, 2)), {"direct"}),
        (Conv2d(1, 20, 20, 32, 64, (5, 3)), {"direct"}),
        (Conv2d(1, 20, 20, 32, 64, (4, 4), (2, 1)), {"direct"}),
        (Conv2d(1, 20, 20, 32, 64, (5, 5), dilation=(2, 2)), {"direct"}),
        (Conv2d(1, 20, 20, 32, 64, (8, 8)), {"direct"}),
    ],
    ids=lambda one: getattr(one, "name", None),
)
def test_filters_for_which_it_pays(op: Conv2d, ways: set[str]) -> None:
    assert set(tw.Task(op).space.knobs[0].options) == ways


def test_a_record_of_an_algorithm_beyond_the_tolerance_is_not_used() -> None:
    exact = tw.Task(Conv2d(1, 8, 8, 16, 16, (3, 3), pads=(1, 1, 1, 1), tolerance=0.0))
    loose = tw.Task(Conv2d(1, 8, 8, 16, 16, (3, 3), pads=(1, 1, 1, 1)))
    assert exact.key == loose.key, "they share their records"
    space = loose.space
    row = next(r for r in space.sample(np.random.default_rng(0), 99) if r[0] > 0)
    schedule = loose.schedule(space.config(row))
    with Records(":memory:") as records:
        records.register(loose.key, loose.where, loose.name, 1.0)
        outcome = Measured((1e-6,), 0.0)
        records.add(
            [Trial(loose.key, loose.where, Config().to_json(), schedule.to_json(), outcome)]
        )
        assert loose.best(records).error > 0
        assert exact.best_trial(records) is None
        assert exact.best(records).error == 0


def test_an_expression_for_which_nobody_stated_a_tolerance_stays_direct() -> None:
    work = Conv2d(1, 8, 8, 16, 16, (3, 3), pads=(1, 1, 1, 1))
    operator, plain = tw.Task(work), tw.Task(work.expression())
    assert operator.key == plain.key
    row = next(r for r in operator.space.sample(np.random.default_rng(0), 99) if r[0] > 0)
    schedule = operator.schedule(operator.space.config(row))
    with Records(":memory:") as records:
        records.register(plain.key, plain.where, plain.name, 1.0)
        outcome = Measured((1e-6,), 0.0)
        records.add(
            [Trial(plain.key, plain.where, Config().to_json(), schedule.to_json(), outcome)]
        )
        assert operator.best(records).error > 0
        assert plain.best(records).error == 0


@pytest.mark.parametrize("tolerance", [-1, float("nan"), 2, "x", None])
def test_a_tolerance_that_is_none_is_refused(tolerance: Any) -> None:
    with pytest.raises(ExpressionError, match="tolerance"):
        Conv2d(1, 8, 8, 16, 16, (3, 3), tolerance=tolerance)


def test_other_convolutions_are_direct() -> None:
    for op in (
        Conv2d(1, 8, 8, 16, 16, (3, 3), (3, 3)),
        Conv2d(1, 8, 8, 16, 16, (3, 3), (2, 1)),
        Conv2d(1, 8, 8, 16, 16, (1, 1)),
        Conv2d(1, 8, 8, 16, 16, (3, 3), dilation=(2, 2)),
        Conv2d(1, 8, 8, 16, 16, (3, 3), groups=2),
    ):
        assert tw.Task(op).space.knobs[0].options == ("direct",)
