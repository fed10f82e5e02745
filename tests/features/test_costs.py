"""Cost features: known numbers of small programs, and the same for a row as for its instance."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.features import Costs
from tilewright.loops.nodes import Nest
from tilewright.ops import Conv2d, Dense, Reduction, Softmax
from tilewright.schedule.schedule import Schedule
from tilewright.tuning.task import Task

COSTS = Costs()


def said(nest: Nest) -> dict[str, float]:
    values = np.exp2(COSTS.of(nest, 1)[0]) - 1
    return dict(zip(COSTS.names, values.tolist(), strict=True))


def test_a_product_in_its_naive_loops() -> None:
    found = said(Schedule(Dense(8, 16, 4).expression()).loops)
    assert found["operations"] == pytest.approx(8 * 4 * 16, rel=1e-3)
    assert found["rounds"] == pytest.approx(8 * 4 * 16, rel=1e-3)
    assert found["lanes of the most work"] == pytest.approx(1)
    assert found["innermost of the most work"] == pytest.approx(16, rel=1e-3)
    assert found["bytes of arguments"] == pytest.approx(4 * (8 * 16 + 16 * 4 + 8 * 4), rel=1e-3)
    assert found["regions"] == found["special"] == found["spilled"] == 0


def test_vectors_take_fewer_operations_and_threads_share() -> None:
    plain = Schedule(Dense(32, 64, 64).expression())
    tiled = plain.split("x_", (4, 16)).reorder("y", "x_.0", "k", "x_.1").vectorize("x_.1")
    before, after = said(plain.loops), said(tiled.loops)
    assert after["operations"] == pytest.approx(before["operations"] / 16, rel=1e-3)
    assert after["lanes of the most work"] == pytest.approx(16, rel=1e-3)
    assert before["unshared"] > 0
    shared = said(tiled.parallel("y").loops)
    assert (shared["unshared"], shared["regions"]) == pytest.approx((0, 1))
    assert shared["shares of the most work"] == pytest.approx(32, rel=1e-3)


def test_what_a_cache_holds_is_fetched_once() -> None:
    """A small product fits; of a large one the second operand is read again and again."""
    small, large = (said(Schedule(Dense(n, n, n).expression()).loops) for n in (16, 512))
    assert small["from beyond l1"] == pytest.approx(3 * 16 * 64, rel=1e-3)
    assert large["from beyond l1"] > 100 * large["bytes of arguments"]
    assert large["from beyond l3"] == pytest.approx(large["bytes of arguments"], rel=1e-3)


def test_exponentials_are_special() -> None:
    assert said(Schedule(Softmax((8, 32)).expression()).loops)["special"] > 8 * 32


def test_a_population_has_the_features_of_its_instances() -> None:
    task = Task(Conv2d(1, 14, 14, 16, 32, (3, 3), pads=(1, 1, 1, 1), relu=True))
    rows = task.space.sample(np.random.default_rng(0), 24)
    for row, features in zip(rows, COSTS.extract(task.space, rows), strict=True):
        nest = task.schedule(task.space.config(row)).loops
        np.testing.assert_allclose(COSTS.of(nest, 1)[0], features, rtol=1e-5)


def test_what_lies_apart_in_memory_comes_in_runs() -> None:
    """A row of a matrix is one run; of a column each element is, and each round a jump."""
    plain = Schedule(Reduction("sum", (256, 256), (1,)).expression())
    rows, columns = said(plain.loops), said(plain.reorder("r1", "i0").loops)
    assert rows["runs from beyond l1"] == pytest.approx(2 * 256, rel=1e-3)  # and the sums
    assert rows["jumps"] == 0
    assert columns["jumps"] >= 256 * 256
    narrow = plain.split("r1", (16, 16)).reorder("r1.0", "i0", "r1.1")
    assert said(narrow.loops)["runs from beyond l1"] == pytest.approx(16 * 257, rel=1e-3)


def test_what_stays_the_same_in_the_innermost_loop_is_loaded_once() -> None:
    plain = Schedule(Dense(8, 16, 4).expression())
    inside, outside = said(plain.loops), said(plain.reorder("y", "k", "x_").loops)
    assert inside["hoisted"] == pytest.approx(2 * 8 * 4 * 16, rel=1e-3)
    assert outside["hoisted"] == pytest.approx(8 * 16 + 8 * 4 * 16, rel=1e-3)
    assert inside["moved"] == pytest.approx(8 * 4, rel=1e-3)  # sums stay in registers
    assert outside["moved"] == pytest.approx(8 * 4 * 16, rel=1e-3)


def test_cycles_are_those_of_what_takes_longest() -> None:
    plain = Schedule(Dense(32, 64, 64).expression())
    chain = said(plain.loops)
    tiled = plain.split("x_", (4, 16)).reorder("y", "x_.0", "k", "x_.1").vectorize("x_.1")
    assert chain["cycles"] == pytest.approx((4 + 2) * chain["rounds"], rel=1e-3)
    assert said(tiled.loops)["cycles"] == pytest.approx(chain["cycles"] / 16, rel=1e-3)
    assert chain["time"] > chain["cycles hoisted"]
