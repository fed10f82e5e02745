"""Strassen's algorithm in the space of products: every candidate is right; it can be refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tilewright as tw
from tilewright.errors import ExpressionError
from tilewright.expr.interpret import evaluate
from tilewright.ops.dense import Dense
from tilewright.ops.matmul import Matmul

OPS = (
    Dense(96, 128, 128, bias=True, residual=True, relu=True),
    Dense(101, 130, 131, bias=True),
    Matmul(97, 128, 132, constant="B", bias=True),
)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_every_candidate_is_right_on_any_number_of_threads(op: Dense | Matmul) -> None:
    task, rng = tw.Task(op), np.random.default_rng(0)
    space, name = task.space, op.expression().name
    data = {t.name: rng.standard_normal(t.shape).astype("f4") for t in op.expression().inputs}
    wanted = evaluate(op.expression(), data)[name]
    configs = [space.config(row) for row in space.sample(rng, 200)]
    chosen = [
        *[config for config in configs if config["algorithm"] == "strassen"][:8],
        *[config for config in configs if config["algorithm"] == "strassen 2"][:4],
    ]
    shares = {config[f"{config['algorithm']}.share"] for config in chosen}
    assert (len(chosen), shares) == (12, {"rows", "stages"})
    for config in chosen:
        schedule = task.schedule(config)
        kernel = tw.build(schedule)
        for threads in (1, 2):
            got = kernel(*(data[b.name] for b in kernel.inputs), threads=threads)
            assert np.abs(got - wanted).max() <= (schedule.error + 4e-6) * np.abs(wanted).max()


@pytest.mark.parametrize(
    ("op", "ways"),
    [
        (Dense(96, 96, 96), ("direct", "strassen")),
        (Dense(96, 128, 128), ("direct", "strassen", "strassen 2")),
        (Dense(96, 128, 128, tolerance=1.2e-5), ("direct", "strassen")),
        (Dense(96, 96, 96, tolerance=0.0), ()),
        (Dense(96, 96, 96, tolerance=1e-6), ()),
        (Dense(8, 96, 96), ()),
        (Dense(96, 96, 96, dtype="float16"), ()),
        (Matmul(96, 96, 96), ()),
        (Matmul(96, 96, 96, constant="B"), ("direct", "strassen")),
        (Matmul(96, 96, 96, constant="A"), ()),
    ],
    ids=str,
)
def test_where_it_is_offered(op: Dense | Matmul, ways: tuple[str, ...]) -> None:
    offered = {knob.name: knob.options for knob in tw.Task(op).space.knobs}
    assert offered.get("algorithm", ()) == ways


@pytest.mark.parametrize("tolerance", [-1e-5, 1.0, float("nan")])
def test_a_tolerance_is_a_share(tolerance: float) -> None:
    for op in OPS[0], OPS[2]:
        with pytest.raises(ExpressionError, match="tolerance"):
            replace(op, tolerance=tolerance)
