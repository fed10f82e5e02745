"""Weights within a budget: what is chosen, what it says when nothing fits, and that it is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from tests.graph.models import floats, write

import tilewright as tw
from tilewright.errors import ArgumentError
from tilewright.expr.tensor import compute, tensor
from tilewright.graph.budget import Way, fit, packed_bytes, ways
from tilewright.graph.model import Model, load_onnx
from tilewright.records.store import Records
from tilewright.records.trial import Measured, Trial
from tilewright.schedule.schedule import Schedule
from tilewright.space.config import Config

TOLERANCE = 5e-5  # admits Winograd's tiles of 2 and of 4


def way(seconds: float, nbytes: int) -> Way:
    a = tensor("A", (4,))
    return Way(Schedule(compute("B", (4,), lambda i: a[i])), nbytes, seconds, tuned=True)


def chosen(choices: list[list[Way]], budget: int | None) -> list[tuple[float, int]]:
    return [(w.seconds, w.nbytes) for w in fit(choices, budget)]


@pytest.mark.parametrize(
    ("budget", "wanted"),
    [
        (None, [(1, 100), (1, 40)]),
        (140, [(1, 100), (1, 40)]),
        (139, [(1.5, 60), (1, 40)]),  # 0.5 s for 40 bytes, where the other costs 1 s for 30
        (99, [(1.5, 60), (2, 10)]),
        (69, [(9, 20), (2, 10)]),
        (30, [(9, 20), (2, 10)]),
    ],
)
def test_what_costs_least_time_for_its_bytes_is_given_up_first(
    budget: int | None, wanted: list[tuple[float, int]]
) -> None:
    first, second = [way(1, 100), way(1.5, 60), way(9, 20)], [way(1, 40), way(2, 10), way(3, 40)]
    assert chosen([first, second], budget) == wanted


def test_a_budget_below_the_least_is_an_error_that_says_it() -> None:
    with pytest.raises(ArgumentError, match=r"in 29 bytes: they take 30 at least .* greater"):
        fit([[way(1, 100), way(9, 20)], [way(2, 10)]], 29)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """Two alike convolutions, of weights of their own."""
    rng = np.random.default_rng(0)
    path = write(
        tmp_path_factory.mktemp("budget") / "two.onnx",
        [
            helper.make_node("Conv", ["x", "a"], ["h"], name="first", pads=[1, 1, 1, 1]),
            helper.make_node("Conv", ["h", "b"], ["y"], name="second", pads=[1, 1, 1, 1]),
        ],
        {"x": (1, 16, 8, 8)},
        {"a": floats(rng, 16, 16, 3, 3), "b": floats(rng, 16, 16, 3, 3)},
    )
    return load_onnx(path, tolerance=TOLERANCE)


@pytest.fixture(scope="module")
def records(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Two trials for each algorithm: those of greater tiles are said to be faster."""
    with Records(tmp_path_factory.mktemp("budget") / "r.db") as made:
        for task in model.tasks():
            names = [knob.name for knob in task.space.knobs]
            if "algorithm" not in names:
                continue
            made.register(task.key, task.where, task.name, 1.0)
            rows = task.space.sample(np.random.default_rng(0), 99)
            of: dict[str, int] = {}
            for config in map(task.space.config, rows):
                algorithm = str(config["algorithm"])
                of[algorithm] = of.get(algorithm, 0) + 1
                if of[algorithm] <= 2:
                    tile = {"direct": 1, "winograd2": 2, "winograd4": 4}[algorithm]
                    outcome = Measured((1e-6 * of[algorithm] / tile,), 0.0)
                    steps = task.schedule(config).to_json()
                    made.add([Trial(task.key, task.where, Config().to_json(), steps, outcome)])
        yield made


def test_a_task_has_one_way_for_each_algorithm_the_fastest_first(
    model: Model, records: Records
) -> None:
    (task,) = (t for t in model.tasks() if t.name.startswith("conv"))
    constant = next(t.name for t in task.expression.inputs if t.constant)
    found = ways(task, records, {constant: 2})
    assert task.weight == 2
    assert [round(w.seconds * 1e6, 3) for w in found] == [0.5, 1.0, 2.0]
    nbytes = [w.nbytes for w in found]
    assert nbytes == sorted(nbytes, reverse=True)
    assert nbytes[0] >= 4 * nbytes[-1] >= 4 * 2 * 16 * 16 * 9 * 4
    (untuned,) = ways(task, None, {constant: 2})
    assert not untuned.tuned


def test_what_is_planned_is_what_the_module_has(model: Model, records: Records) -> None:
    x = np.random.default_rng(1).standard_normal((1, 16, 8, 8), np.float32)
    (task,) = (t for t in model.tasks() if t.name.startswith("conv"))
    constant = next(t.name for t in task.expression.inputs if t.constant)
    whole = tw.compile(model, records, threads=1)
    wanted, sizes = whole(x), [whole.weight_bytes]
    for one in ways(task, records, {constant: 2}):
        module = tw.compile(model, records, threads=1, weight_bytes=one.nbytes)
        assert module.weight_bytes == one.nbytes == packed_bytes(one.schedule, {constant: 2})
        np.testing.assert_allclose(module(x), wanted, atol=1e-3 * np.abs(wanted).max())
        sizes.append(module.weight_bytes)
    assert sizes[0] == sizes[1] > sizes[2] > sizes[3]


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "1 GB"])
def test_a_budget_is_a_number_of_bytes(model: Model, wrong: Any) -> None:
    with pytest.raises(ArgumentError, match="weight_bytes"):
        tw.compile(model, weight_bytes=wrong)


def test_records_may_be_a_path(model: Model, records: Records) -> None:
    path = Path(str(records.url.database))
    with pytest.raises(ArgumentError, match=r"in 9 bytes: they take \d+ at least"):
        tw.compile(model, path, threads=1, weight_bytes=9)
