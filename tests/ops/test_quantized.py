"""Operators of 8-bit integers and short floats, as spaces schedule them, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.differential import check_compiled, check_interpreted

import tilewright as tw
from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.rounding import rough
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.ops.quantized import Requantized
from tilewright.schedule.intrinsics import INTRINSICS
from tilewright.tuning.task import Task

Array = np.ndarray[Any, Any]


def arrays(operator: Any, seed: int = 0) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    made: dict[str, Array] = {}
    for t in operator.expression().inputs:
        if t.name == "S":
            made[t.name] = rng.uniform(1e-3, 1e-2, t.shape).astype(np.float32)
        elif dtypes.is_float(t.dtype):
            made[t.name] = rng.standard_normal(t.shape).astype(dtypes.numpy(t.dtype))
        else:
            info = np.iinfo(t.dtype) if t.dtype != "int32" else np.iinfo(np.int16)
            made[t.name] = rng.integers(info.min, info.max, t.shape, endpoint=True).astype(t.dtype)
    return made


def reference(operator: Conv2d | Dense, given_: dict[str, Array]) -> Array:
    """Return the sums with bias in int64, by NumPy's loops over windows."""
    x, w = given_["X"].astype(np.int64), given_["W"].astype(np.int64)
    if isinstance(operator, Dense):
        total = x @ w
    else:
        (top, left, bottom, right), (sy, sx) = operator.pads, operator.stride
        x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
        h, v = operator.out_height, operator.out_width
        total = np.zeros((operator.batch, h, v, operator.channels_out), np.int64)
        for ky in range(operator.kernel[0]):
            for kx in range(operator.kernel[1]):
                part = x[:, ky : ky + (h - 1) * sy + 1 : sy, kx : kx + (v - 1) * sx + 1 : sx]
                total += part @ w[ky, kx]
    return total + given_["B"] if operator.bias else total


def candidates(operator: Any, seed: int) -> list[tw.Schedule]:
    task = Task(operator)
    rows = task.space.sample(np.random.default_rng(seed), 2)
    return [task.schedule(task.space.config(row)) for row in rows]


small = st.integers(1, 9)


@settings(max_examples=40, deadline=None)
@given(
    dtype=st.sampled_from(("uint8", "int8")),
    size=st.tuples(st.integers(3, 8), st.integers(3, 8), small, st.integers(1, 37)),
    kernel=st.sampled_from(((1, 1), (3, 3), (2, 3))),
    stride=st.sampled_from(((1, 1), (2, 2), (1, 2))),
    pads=st.sampled_from(((0, 0, 0, 0), (1, 1, 1, 1), (0, 1, 2, 0))),
    flags=st.tuples(st.booleans(), st.booleans()),
    seed=st.integers(0, 5),
)
def test_convolutions_are_exact(
    dtype: str, size: Any, kernel: Any, stride: Any, pads: Any, flags: Any, seed: int
) -> None:
    height, width, ci, co = size
    operator = Conv2d(
        1, height, width, ci, co, kernel, stride, pads, bias=flags[0], relu=flags[1], dtype=dtype
    )
    given_ = arrays(operator, seed)
    wanted = reference(operator, given_)
    wanted = np.maximum(wanted, 0) if operator.relu else wanted
    for s in candidates(operator, seed):
        assert np.array_equal(tw.build(s, threads=1)(**given_), wanted)
        check_compiled(s)  # between guard pages


@settings(max_examples=30, deadline=None)
@given(
    dtype=st.sampled_from(("uint8", "int8")),
    size=st.tuples(st.integers(1, 7), st.integers(1, 70), st.integers(1, 70)),
    seed=st.integers(0, 5),
)
def test_dense_layers_are_exact(dtype: str, size: tuple[int, int, int], seed: int) -> None:
    operator = Dense(*size, bias=True, dtype=dtype)
    given_ = arrays(operator, seed)
    for s in candidates(operator, seed):
        assert np.array_equal(tw.build(s, threads=1)(**given_), reference(operator, given_))


@pytest.mark.parametrize("to", ["uint8", "int8", "float32"])
@pytest.mark.parametrize(
    "operator",
    [
        Conv2d(1, 6, 7, 5, 19, (3, 3), (1, 1), (1, 1, 1, 1), bias=True, dtype="uint8"),
        Conv2d(1, 5, 5, 8, 32, (3, 3), (2, 2), (1, 1, 1, 1), relu=True, dtype="int8"),
        Dense(3, 65, 33, bias=True, relu=True, dtype="int8"),
    ],
    ids=lambda o: o.name,
)
def test_requantized(operator: Conv2d | Dense, to: str) -> None:
    whole = Requantized(operator, to, 0 if to == "float32" else 7)
    given_ = arrays(whole)
    real = reference(operator, given_).astype(np.float32) * given_["S"]
    real = np.maximum(real, 0) if operator.relu else real
    wanted = real
    if to != "float32":
        info = np.iinfo(to)
        wanted = np.clip(np.rint(real) + np.float32(7), info.min, info.max).astype(to)
    for s in (*candidates(whole, 1), Task(whole).fallback()):
        kernel = tw.build(s, threads=1)
        assert np.array_equal(kernel(**given_), wanted)
        assert "local conv" in str(s.loops) or "local product" in str(s.loops)
    assert np.allclose(rough(whole.expression(), given_).value, wanted, atol=1)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats_come_and_go_as_they_are_stored(dtype: str) -> None:
    for operator in (
        Conv2d(1, 6, 7, 5, 19, (3, 3), pads=(1, 1, 1, 1), bias=True, residual=True, dtype=dtype),
        Dense(3, 65, 33, relu=True, dtype=dtype),
    ):
        given_ = arrays(operator)
        wanted, allowed = rough(operator.expression(), given_)
        for s in candidates(operator, 0):
            got = tw.build(s, threads=1)(**given_)
            assert got.dtype.name == dtype
            assert np.all(np.abs(got.astype(np.float64) - wanted) <= allowed)


@pytest.mark.parametrize(
    ("dtype", "name"), [("uint8", "vnni_u8s8"), ("int8", "vnni_s8s8"), ("bfloat16", "bf16")]
)
def test_spaces_take_the_instruction_if_the_target_has_it(dtype: str, name: str) -> None:
    operator = Conv2d(1, 6, 6, 6, 24, (3, 3), pads=(1, 1, 1, 1), dtype=dtype)
    able = tw.Target("x86-64-v4", features=("+avx512vnni", "+avx512bf16"))
    assert INTRINSICS[name].on(able)
    for target, wanted in (able, True), (tw.Target("x86-64-v4"), False):
        s = Task(operator, target).fallback()
        assert (name in str(s.loops)) == wanted
        check_interpreted(s)


REFUSED = {
    "floats": lambda: Requantized(Dense(2, 2, 2)),
    "a residual": lambda: Requantized(Dense(2, 2, 2, residual=True, dtype="int8")),
    "to int32": lambda: Requantized(Dense(2, 2, 2, dtype="int8"), "int32"),
    "a zero point out of range": lambda: Requantized(Dense(2, 2, 2, dtype="int8"), "int8", 200),
    "a zero point of floats": lambda: Requantized(Dense(2, 2, 2, dtype="int8"), "float32", 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused(name: str) -> None:
    with pytest.raises(ExpressionError, match="cannot requantize"):
        REFUSED[name]()
