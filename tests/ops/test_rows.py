"""Rows and reductions: what their spaces hold, how far they are off, and what a softmax is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ops import by_numpy
from tests.ops.operators import NUMBERS, reductions, rowwise, shapes

from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.ops.matvec import MatVec
from tilewright.ops.norm import GroupNorm, InstanceNorm, LayerNorm, RmsNorm
from tilewright.ops.pool2d import GlobalAveragePool, Pool2d
from tilewright.ops.reduce import ArgMax, Reduction
from tilewright.ops.softmax import LogSoftmax, Softmax
from tilewright.runtime.build import build
from tilewright.schedule.schedule import Schedule
from tilewright.target import Target
from tilewright.tuning.guess import guess
from tilewright.tuning.task import Operator, Task

Array = by_numpy.Array


def candidates(operator: Operator, count: int, seed: int = 0) -> list[Schedule]:
    task = Task(operator)
    rows = task.space.sample(np.random.default_rng(seed), count)
    assert len(rows)
    return [task.fallback(), *(task.schedule(task.space.config(row)) for row in rows)]


def run(schedule: Schedule, arrays: dict[str, Array], threads: int = 2) -> Array:
    kernel = build(schedule)
    out = np.full(schedule.output.shape, 99, dtypes.numpy(schedule.output.dtype))
    return kernel(*(arrays[b.name] for b in kernel.inputs), out=out, threads=threads)


def check(operator: Operator, count: int = 2, seed: int = 0) -> None:
    arrays = by_numpy.given(operator, np.random.default_rng(seed))
    for schedule in candidates(operator, count, seed):
        try:
            by_numpy.check(operator, run(schedule, arrays), arrays)
        except AssertionError as error:
            raise AssertionError(f"{operator}\n{schedule.loops}\n{error}") from None


@settings(max_examples=40, deadline=None)
@given(rowwise(), st.integers(0, 9))
def test_rows(operator: Operator, seed: int) -> None:
    check(operator, seed=seed)


@settings(max_examples=40, deadline=None)
@given(reductions(), st.integers(0, 9))
def test_reductions(operator: Operator, seed: int) -> None:
    check(operator, seed=seed)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.integers(1, 300), st.booleans(), NUMBERS, st.integers(0, 9))
def test_matrix_times_vector(
    rows: int, columns: int, constant: bool, dtype: str, seed: int
) -> None:
    check(MatVec(rows, columns, constant, dtype=dtype), seed=seed)


@settings(max_examples=20, deadline=None)
@given(shapes, st.integers(0, 2), st.sampled_from(("float32", "int32")), st.integers(0, 9))
def test_the_first_greatest_element(shape: list[int], axis: int, dtype: str, seed: int) -> None:
    operator = ArgMax(tuple(shape), axis % len(shape), dtype)
    x = np.random.default_rng(seed).integers(-3, 4, operator.expression().inputs[0].shape)
    arrays = {"X": x.astype(dtype)}
    wanted = by_numpy.compute(operator, arrays)
    for schedule in candidates(operator, 2, seed):
        np.testing.assert_array_equal(run(schedule, arrays), wanted)


def test_not_a_number_is_the_greatest_element() -> None:
    x = np.zeros((3, 40), np.float32)
    x[0, 7], x[1, [20, 33]], x[1, 5], x[2] = 1.0, np.nan, np.inf, np.nan
    for schedule in candidates(ArgMax((3, 40)), 4):
        np.testing.assert_array_equal(run(schedule, {"X": x}), [7, 20, 0])


LARGE: tuple[Operator, ...] = (
    Softmax((3, 3001)), LayerNorm((2, 4099)), Reduction("sum", (100003,), (0,)),
    Reduction("mean", (50021, 3), (0,)), Reduction("prod", (2, 20011), (1,)), MatVec(3, 20011),
    MatVec(5, 30011, constant=False), GroupNorm(1, 6, 3001, 2),
)  # fmt: skip


@pytest.mark.parametrize("operator", LARGE, ids=lambda o: o.name)
def test_much_data_and_few_rows(operator: Operator) -> None:
    """Parts of a reduction are shared among threads; sums are compared in units of their terms."""
    arrays = by_numpy.given(operator, np.random.default_rng(0))
    if getattr(operator, "kind", "") == "prod":
        arrays["X"] = (1 + arrays["X"] / 1e4).astype(np.float32)
    wanted = by_numpy.compute(operator, arrays)
    size = float(np.sqrt(arrays["X"].size))
    for schedule in candidates(operator, 6):
        for threads in (1, 2):
            got = run(schedule, arrays, threads)
            assert np.abs(got - wanted).max() <= 2e-5 * size, str(schedule.loops)


def test_softmax_of_large_numbers() -> None:
    x = np.array([[1e4, 1e4 - 1, -1e4], [-np.inf, 0, 0], [3e38, -3e38, 0]], np.float32)
    for schedule in candidates(Softmax((3, 3)), 3):
        got = run(schedule, {"X": x})
        e = np.exp(-1.0)
        wanted = [[1 / (1 + e), e / (1 + e), 0], [0, 0.5, 0.5], [1, 0, 0]]
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.parametrize("operator", [LayerNorm((4, 1000), -1, False, False),
                                      InstanceNorm(1, 16, 333, False, False, True)])  # fmt: skip
def test_a_large_mean_costs_no_digits(operator: Operator) -> None:
    """The mean is a thousand deviations: mean(x^2) - mean(x)^2 would keep no digit of float32."""
    shape = operator.expression().inputs[0].shape
    x = (np.random.default_rng(0).standard_normal(shape) + 1000).astype(np.float32)
    wanted = by_numpy.compute(operator, {"X": x})
    for schedule in candidates(operator, 4):
        # The mean itself is rounded to 2^-24 * 1000 and moves the result by that.
        np.testing.assert_allclose(run(schedule, {"X": x}), wanted, atol=2e-3)


@pytest.mark.parametrize("operator", [Softmax((512, 300)), LogSoftmax((512, 300)),
                                      LayerNorm((512, 300)), RmsNorm((512, 300)),
                                      GroupNorm(8, 32, 49, 4), Softmax((16, 30, 64), 1),
                                      ArgMax((512, 300))], ids=lambda o: o.name)  # fmt: skip
def test_a_row_is_computed_in_one_loop(operator: Operator) -> None:
    """Nothing of a row leaves the loop over rows, unless the stages are kept apart."""
    task = Task(operator)
    sampled = task.space.sample(np.random.default_rng(0), 256)
    configs = [task.space.config(row) for row in sampled]
    ways = {config: next(v for k, v in config.items if k.endswith(" rows")) for config in configs}
    assert len(set(ways.values())) > 1
    for config, way in ways.items():
        nest = task.schedule(config).loops
        kept = [b.name for b in nest.buffers if b.scope == "workspace"]
        assert (not kept and len(nest.body) == 1) == (way != "apart"), nest


def test_softmax_as_a_nest(golden: Callable[[str, str], None]) -> None:
    said: list[str] = []
    for operator in (Softmax((64, 200)), Softmax((8, 30, 40), 1)):
        task = Task(operator, Target("x86-64-v4"))
        rows = task.space.sample(np.random.default_rng(0), 256)
        config = task.space.config(rows[int(np.argmax(guess(task.space, rows)))])
        said.append(f"# {operator.name}, in rows\n{task.schedule(config).loops}\n")
    space = str(Task(Softmax((64, 200)), Target("x86-64-v4")).space)
    golden("softmax", "\n".join([*said, f"# its space\n{space}"]))


def test_what_cannot_be_says_why() -> None:
    with pytest.raises(ExpressionError, match="give one or more different axes from -2 to 1"):
        Softmax((3, 4), 2)
    with pytest.raises(ExpressionError, match="give one or more different axes from -3 to 2"):
        Reduction("sum", (3, 4, 5), (1, -2))
    with pytest.raises(ExpressionError, match="it is sum, max, min, prod, mean"):
        Reduction("median", (3,), (0,))
    with pytest.raises(ExpressionError, match="it is of floats"):
        Reduction("mean", (3,), (0,), "int32")
    for make in (
        lambda: Softmax((3, 4), dtype="int8"),
        lambda: LogSoftmax((3, 4), dtype="int32"),
        lambda: LayerNorm((3, 4), dtype="int8"),
        lambda: RmsNorm((3, 4), dtype="uint8"),
        lambda: GroupNorm(1, 4, 4, 2, dtype="int32"),
        lambda: InstanceNorm(1, 4, 4, dtype="int8"),
        lambda: GlobalAveragePool(1, 4, 4, 2, "int32"),
        lambda: Pool2d("average", 1, 4, 4, 2, (2, 2), dtype="int64"),
    ):
        with pytest.raises(ExpressionError, match="it is of floats"):
            make()
    with pytest.raises(ExpressionError, match="groups must divide the channels"):
        GroupNorm(1, 5, 4, 2)
    with pytest.raises(ExpressionError, match="give one from -2 to 1"):
        LayerNorm((3, 4), 2)
