"""float16 and bfloat16: conversions bit by bit, and sums in float32 of what they store."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.levels import HERE

import tilewright as tw
from tilewright import Schedule, Target, dtypes
from tilewright.errors import ArgumentError, ExpressionError
from tilewright.expr.rounding import rough
from tilewright.loops.interpret import interpret

SHORT = dtypes.SHORT_FLOATS
LEVELS = (*HERE, "")

Array = np.ndarray[Any, Any]


def target(level: str) -> Target:
    return Target(level) if level else tw.host()


def converted(array: Array, dtype: str, level: str) -> Array:
    """Return an array converted by a kernel, in vectors and a scalar tail."""
    (n,) = array.shape
    a = tw.tensor("A", (n,), array.dtype.name)
    b = tw.compute("B", (n,), lambda i: tw.cast(dtype, a[i]))
    s = Schedule(b).split("i", (-(-n // 64), 64)).vectorize("i.1")
    return tw.build(s, target(level), threads=1)(array)


def equal(got: Array, wanted: Array) -> bool:
    """Compare bits, all NaN alike."""
    bits = got.dtype.itemsize * 8
    same = got.view(f"u{bits // 8}") == wanted.view(f"u{bits // 8}")
    return bool(np.all(same | (np.isnan(got) & np.isnan(wanted))))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", SHORT)
def test_every_number_is_widened_exactly(dtype: str, level: str) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(dtypes.numpy(dtype))
    assert equal(converted(every, "float32", level), every.astype(np.float32))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", SHORT)
def test_numbers_are_rounded_to_nearest_even(dtype: str, level: str) -> None:
    rng = np.random.default_rng(0)
    random = rng.integers(0, 1 << 32, 1 << 18, dtype=np.uint32).view(np.float32)
    every = np.arange(1 << 16, dtype=np.uint16).view(dtypes.numpy(dtype)).astype(np.float32)
    with np.errstate(all="ignore"):
        halfway = (every.view(np.uint32) + np.uint32(0x1000)).view(np.float32)
        if dtype == "bfloat16":
            halfway = (every.view(np.uint32) + np.uint32(0x8000)).view(np.float32)
        wide = np.concatenate([random, every, halfway, np.nextafter(halfway, np.float32(0))])
        if dtype == "bfloat16" and target(level).has("avx512bf16"):
            wide[np.abs(wide) < np.finfo(np.float32).tiny] = 0.0  # which the instruction takes as 0
        wanted = wide.astype(dtypes.numpy(dtype))
    assert equal(converted(wide, dtype, level), wanted)


@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize("other", ["int32", "float64", "uint8", "bool", "float16", "bfloat16"])
def test_other_types_go_by_float32(dtype: str, other: str) -> None:
    numbers = np.array([0, 1, 2, 3, 100, 0.5, 1.5, 17, 200, 0.25]).astype(dtypes.numpy(dtype))
    there = converted(numbers, other, "")
    wide = numbers.astype(np.float32)
    wanted = wide.astype(dtypes.numpy(other))
    assert np.array_equal(there, wanted)
    back = converted(there, dtype, "")
    assert np.array_equal(back, wanted.astype(np.float32).astype(dtypes.numpy(dtype)))


def _arithmetic(dtype: str, n: int) -> tw.Tensor:
    a, b = tw.tensor("A", (n,), dtype), tw.tensor("B", (n,), dtype)

    def value(i: tw.Axis) -> Any:
        small = tw.select(a[i] < b[i], a[i] * 0.5 - b[i], tw.maximum(a[i], -b[i]))
        return small + abs(b[i]) / 3.0 + tw.tanh(a[i])

    return tw.compute("C", (n,), value)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", SHORT)
def test_arithmetic(dtype: str, level: str) -> None:
    output = _arithmetic(dtype, 45)
    rng = np.random.default_rng(1)
    arrays = {
        t.name: rng.standard_normal(t.shape).astype(dtypes.numpy(dtype)) for t in output.inputs
    }
    wanted, allowed = rough(output, arrays)
    got = tw.build(Schedule(output).vectorize("i"), target(level), threads=1)(*arrays.values())
    assert got.dtype.name == dtype
    assert np.all(np.abs(got.astype(np.float64) - wanted) <= allowed)
    assert np.allclose(interpret(Schedule(output).loops, arrays)["C"], wanted)


@pytest.mark.parametrize("dtype", SHORT)
@settings(max_examples=25, deadline=None)
@given(
    st.tuples(st.integers(1, 7), st.integers(1, 40), st.integers(1, 40)), st.sampled_from(LEVELS)
)
def test_products_are_added_up_in_float32(
    dtype: str, shape: tuple[int, int, int], level: str
) -> None:
    rows, depth, columns = shape
    a = tw.tensor("A", (rows, depth), dtype)
    w = tw.tensor("W", (depth, columns), dtype, constant=True)
    k = tw.reduce_axis("k", depth)
    product = tw.compute(
        "P",
        (rows, columns),
        lambda y, x: tw.sum(tw.cast("float32", a[y, k]) * tw.cast("float32", w[k, x]), over=k),
    )
    output = tw.compute("C", (rows, columns), lambda y, x: tw.cast(dtype, product[y, x]))
    s = Schedule(output).reorder("y", "k", "x").vectorize("x").pack("W").fuse_at("C", "y")
    rng = np.random.default_rng(0)
    kind = dtypes.numpy(dtype)
    arrays = [rng.standard_normal(t.shape).astype(kind) for t in (a, w)]
    got = tw.build(s, target(level), threads=1)(*arrays).astype(np.float64)
    exact = arrays[0].astype(np.float64) @ arrays[1].astype(np.float64)
    sizes = np.abs(arrays[0].astype(np.float64)) @ np.abs(arrays[1].astype(np.float64))
    eps = dtypes.finfo(dtype)[0]
    assert np.all(np.abs(got - exact) <= eps / 2 * np.abs(exact) + (depth + 2) * 2.0**-23 * sizes)


@pytest.mark.parametrize("dtype", SHORT)
def test_arguments_are_checked_by_the_name_of_their_type(dtype: str) -> None:
    a = tw.tensor("A", (4,), dtype)
    kernel = tw.build(tw.compute("B", (4,), lambda i: a[i] + 1.0))
    assert f"A: {dtype} 4" in repr(kernel)
    with pytest.raises(ArgumentError, match=f"A: {dtype} 4 wanted, given float32"):
        kernel(np.zeros(4, np.float32))
    assert kernel(np.zeros(4, dtypes.numpy(dtype))).dtype.name == dtype


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats_are_not_added_up(dtype: str) -> None:
    """Each partial sum would be rounded: 256 ones more make no difference to 256 in bfloat16."""
    a, k = tw.tensor("A", (4096,), dtype), tw.reduce_axis("k", 4096)
    with pytest.raises(ExpressionError, match="stored but not added up: cast it"):
        tw.sum(a[k], over=k)
    total = tw.compute("S", (), lambda: tw.sum(tw.cast("float32", a[k]), over=k))
    ones = np.ones(4096, dtypes.numpy(dtype))
    assert float(tw.build(total)(ones)) == 4096
