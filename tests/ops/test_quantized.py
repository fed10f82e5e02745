"""Operators of 8-bit integers and short floats, as spaces schedule them, against NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper
from onnx.reference import ReferenceEvaluator
from tests.differential import check_compiled, check_interpreted
from tests.ops import by_numpy, draws

import tilewright as tw
import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.rounding import rough
from tilewright.ops import mixed
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.ops.matvec import MatVec
from tilewright.ops.pool2d import GlobalAveragePool, Pool2d
from tilewright.ops.quantized import Requantized
from tilewright.ops.reduce import Reduction
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


def reference(operator: Any, given_: dict[str, Array], zero: int = 0) -> Array:
    """Return the sums with bias in int64, of data whose zero point is `zero`."""
    exact = {name: array.astype(np.float64) for name, array in given_.items()}
    exact["X"] = exact["X"] - zero
    plain = replace(operator, dtype="float64", relu=False)
    return by_numpy.compute(plain, exact).astype(np.int64)


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


def a_sum(pick: draws.Pick) -> Any:
    """Return an operator that can be requantized."""
    family = pick((draws.conv, draws.conv2d, draws.dense, draws.depthwise))
    operator: Any = family(pick)
    alone = {"residual": False} if hasattr(operator, "residual") else {}
    return replace(operator, dtype=pick(("uint8", "int8")), **alone)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_zero_points(data: st.DataObject) -> None:
    """X - zero point is what is multiplied, in the padding, too, where it is 0."""
    operator = a_sum(lambda options: data.draw(st.sampled_from(list(options))))
    low = np.iinfo(operator.dtype).min
    zero = data.draw(st.sampled_from((0, 1, low, low + 128, low + 255, low + 131)))
    to = data.draw(st.sampled_from(("uint8", "int8", "float32")))
    after = 0 if to == "float32" else data.draw(st.sampled_from((0, 7, 127)))
    whole = Requantized(operator, to, after, zero)
    given_ = arrays(whole, data.draw(st.integers(0, 5)))
    own = np.asarray(given_.get("B", 0) if operator.bias else 0)
    scale = given_["S"].reshape(whole.expression().shape[-2:] if grouped(operator) else (-1,))
    real = reference(operator, given_ | {"B": own}, zero).astype(np.float32) * scale
    real = np.maximum(real, 0) if operator.relu else real
    wanted = real
    if to != "float32":
        info = np.iinfo(to)
        wanted = np.clip(np.rint(real) + np.float32(after), info.min, info.max).astype(to)
    if operator.bias or zero:
        given_["B"] = whole.bias(given_["W"], own)
    for s in (*candidates(whole, 1), Task(whole).fallback()):
        kernel = tw.build(s, threads=1)
        assert np.array_equal(kernel(**{b.name: given_[b.name] for b in kernel.inputs}), wanted)


def grouped(operator: Any) -> bool:
    """Whether the channels of the result are two dimensions."""
    return getattr(operator, "groups", 1) > 1 or getattr(operator, "multiplier", 1) > 1


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_zero_points_are_those_of_onnx(dtype: str) -> None:
    conv = Conv2d(1, 6, 7, 5, 9, (3, 3), pads=(1, 1, 1, 1), dtype=dtype)
    low = int(np.iinfo(dtype).min)
    whole = Requantized(conv, dtype, low + 99, low + 131)
    given_ = arrays(whole)
    given_["S"][:] = 2.0**-9
    given_["B"] = whole.bias(given_["W"])
    number, whole_x = np.dtype(dtype).type, given_["X"].transpose(0, 3, 1, 2)
    feed = {
        "x": whole_x, "x_scale": np.float32(0.5), "x_zero": number(low + 131),
        "w": given_["W"].transpose(3, 2, 0, 1), "w_scale": np.float32(2.0**-7),
        "w_zero": np.int8(0), "y_scale": np.float32(2), "y_zero": number(low + 99),
    }  # fmt: skip
    node = helper.make_node("QLinearConv", list(feed), ["y"], pads=(1, 1, 1, 1))
    kinds = {name: helper.np_dtype_to_tensor_dtype(np.asarray(a).dtype) for name, a in feed.items()}
    inputs = [helper.make_tensor_value_info(name, kind, None) for name, kind in kinds.items()]
    out = helper.make_tensor_value_info("y", kinds["y_zero"], None)
    model = helper.make_model(
        helper.make_graph([node], "conv", inputs, [out]),
        opset_imports=[onnx.OperatorSetIdProto(version=13)],
    )
    made: Any = ReferenceEvaluator(model).run(None, feed)
    kernel = tw.build(Task(whole).fallback(), threads=1)
    assert np.array_equal(kernel(**given_), made[0].transpose(0, 2, 3, 1))


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_averages_round_halves_to_even(dtype: str) -> None:
    low = np.iinfo(dtype).min
    pairs = np.array([[low, low + 1], [low + 1, low + 2], [low + 254, low + 255], [0, 5]], dtype)
    wanted = [low, low + 2, low + 254, 2]
    for operator in (
        GlobalAveragePool(4, 1, 2, 1, dtype),
        Pool2d("average", 4, 1, 2, 1, (1, 2), dtype=dtype),
        Reduction("mean", (4, 2), (1,), dtype),
    ):
        kernel = tw.build(operator.expression(), threads=1)
        x = pairs.reshape(kernel.inputs[0].shape)
        assert kernel(x).ravel().tolist() == wanted


def test_averages_are_tuned_on_divisors_at_random() -> None:
    """What is beyond a byte saturates, in the reference as in the code."""
    pads = (1, 1, 1, 1)
    task = Task(Pool2d("average", 1, 5, 5, 3, (3, 3), pads=pads, dtype="uint8"))
    assert not tw.tune(task, trials=2, seed=0).failures


def test_every_mean_of_bytes_is_exact() -> None:
    """Every sum of up to 300 bytes, and some of the largest windows that float32 divides."""
    total = te.tensor("T", (1 << 12,), "int32")
    rng = np.random.default_rng(0)
    for count in (*range(1, 301, 7), 256, 2**15 - 1, 2**16 - 1):
        mean = te.compute("M", total.shape, lambda i: mixed.divided(total[i], count, "uint8"))  # noqa: B023
        sums = rng.integers(0, 255 * count, total.shape, endpoint=True)
        halves = rng.integers(0, 255, total.shape) * count + count // 2
        for given_ in (sums, halves):
            doubled = 2 * given_ % (2 * count)
            wanted = given_ // count + (doubled > count)
            wanted += (doubled == count) & (wanted % 2 == 1)
            assert np.array_equal(tw.build(mean, threads=1)(given_.astype(np.int32)), wanted)


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
    "an input zero point out of range": lambda: Requantized(
        Dense(2, 2, 2, dtype="uint8"), input_zero_point=-1
    ),
    "another operator": lambda: Requantized(MatVec(2, 2, dtype="int8")),  # type: ignore[arg-type]
    "a zero point of floats": lambda: Requantized(Dense(2, 2, 2, dtype="int8"), "float32", 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused(name: str) -> None:
    with pytest.raises(ExpressionError, match="cannot requantize"):
        REFUSED[name]()
