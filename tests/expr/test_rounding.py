"""What rounding may add: right code passes in any order, and hardly anything else does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tilewright as tw
from tilewright.expr.rounding import Rough, rough
from tilewright.expr.tensor import Tensor

N = 300


def inputs(expression: Tensor) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        t.name: rng.standard_normal(t.shape).astype(t.dtype)
        if t.dtype.startswith("float")
        else rng.integers(0, 9, t.shape).astype(t.dtype)
        for t in expression.inputs
    }


def filled(extent: int, value: Callable[[tw.Axis], tw.ScalarLike]) -> Tensor:
    return tw.compute("R", (extent,), value)


def accepts(wanted: Rough, result: np.ndarray) -> bool:
    same = (result == wanted.value) | (np.isnan(result) & np.isnan(wanted.value))
    with np.errstate(invalid="ignore"):
        near = np.abs(result - wanted.value) <= wanted.error
    return bool((same | near | np.isinf(wanted.error)).all())


x, y, n = tw.tensor("X", (N,)), tw.tensor("Y", (N,)), tw.tensor("N", (N,), "int32")
d = tw.tensor("D", (N,), "float64")


def chain(i: tw.Axis) -> tw.Scalar:
    total = x[i] * 0.1
    for k in range(60):
        total = total + y[i] * float(k)
    return total


ELEMENTWISE: dict[str, Callable[[tw.Axis], tw.ScalarLike]] = {
    "cancelled": lambda i: (x[i] + 1000.0) - 1000.0,
    "overflowing": lambda i: x[i] * 1e30 * 1e30,
    "and back": lambda i: x[i] * 1e30 * 1e30 * 1e-30,
    "overflow of a difference": lambda i: tw.exp(x[i] * 90.0) - tw.exp(y[i] * 90.0),
    "small": lambda i: x[i] * 1e-9,
    "tiny": lambda i: x[i] * 1e-30 * 1e-12,
    "chain": chain,
    "quotient": lambda i: x[i] / (y[i] + 1e-4),
    "functions": lambda i: tw.exp(tw.tanh(x[i]) * 20.0) * tw.sigmoid(y[i] * 30.0),
    "erf": lambda i: x[i] * 0.5 * (1.0 + tw.erf(x[i] * 0.7071067)),
    "no values": lambda i: tw.log(x[i]) + tw.sqrt(y[i]),
    "floor": lambda i: tw.floor(x[i] * 3.0 + 0.5),
    "threshold": lambda i: tw.select(x[i] * 0.1 + y[i] * 0.1 < 0.05, x[i], y[i]),
    "least": lambda i: tw.minimum(tw.maximum(x[i] * 1.1, y[i]), 0.7),
    "whole": lambda i: tw.cast("int32", x[i] * 7.7) + n[i] / 2,
    "of integers": lambda i: tw.cast("float32", n[i]) * 1e-9,
    "power": lambda i: (x[i] + y[i]) ** 7,
    "float64": lambda i: tw.exp(d[i]) * 1.1 - d[i],
    "waves": lambda i: tw.sin(x[i] * 9.0 + y[i]) + tw.cos(y[i] * 3.0 + 0.1),
    "tangent": lambda i: tw.tan(x[i] * 0.3 + y[i] * 0.1),
    "hyperbolic": lambda i: tw.cosh(x[i] * y[i]) + tw.asinh(x[i] + y[i]),
    "arcs": lambda i: tw.acos(x[i] * 0.1 + 0.05) + tw.atan(y[i] * 7.0),
    "powers": lambda i: tw.power(abs(x[i]) * 1.1 + 0.1, y[i] * 0.7) + (x[i] * 0.3) ** -1,
    "of the other sign": lambda i: (x[i] - 7.0) ** 9.0,
    "remainders": lambda i: tw.mod(x[i], 0.7) + tw.fmod(y[i] * 1.1, x[i] * 0.3 + 9.0),
    "signs": lambda i: tw.sign(x[i] * 0.1 - 0.01) + tw.ceil(y[i] * 3.3) * tw.trunc(x[i] * 1.7),
    "whether it is a number": lambda i: tw.select(tw.isnan(tw.log(x[i] * 1.1)), 1.0, y[i]),
    "bits": lambda i: tw.bitwise_xor(tw.left_shift(n[i], 3), n[i] % 5) ** n[i],
    "down and up": lambda i: tw.cast("float64", tw.cast("float32", d[i])) - d[i],
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_right_code_passes(name: str) -> None:
    expression = tw.compute("R", (N,), ELEMENTWISE[name])
    given = inputs(expression)
    wanted = rough(expression, given)
    assert accepts(wanted, tw.build(expression)(**given))
    assert np.isfinite(wanted.error).mean() > 0.9, "hardly anything goes"


@pytest.mark.parametrize("name", ["cancelled", "small", "quotient", "erf", "least", "chain"])
def test_code_that_is_a_little_off_does_not(name: str) -> None:
    expression = tw.compute("R", (N,), ELEMENTWISE[name])
    wanted = rough(expression, inputs(expression))
    assert not accepts(wanted, wanted.value * (1 + 1e-3))
    assert not accepts(wanted, -wanted.value)
    assert not accepts(wanted, np.roll(wanted.value, 1))


def orders(terms: np.ndarray) -> dict[str, float]:
    """Sum terms in float32, one after the other in several orders, and by halves."""
    mixed = np.random.default_rng(1).permutation(terms)
    lanes = np.cumsum(terms.reshape(-1, 16), axis=0, dtype=np.float32)[-1]
    return {
        "in order": float(np.cumsum(terms, dtype=np.float32)[-1]),
        "backwards": float(np.cumsum(terms[::-1], dtype=np.float32)[-1]),
        "mixed": float(np.cumsum(mixed, dtype=np.float32)[-1]),
        "lanes": float(np.cumsum(lanes, dtype=np.float32)[-1]),
        "halves": float(np.sum(terms, dtype=np.float32)),
    }


@pytest.mark.parametrize("terms", [16, 4608, 200_000, 4_000_000])
@pytest.mark.parametrize("kind", ["mixed", "squares", "alike", "up and down"])
def test_sums_in_any_order_pass(kind: str, terms: int) -> None:
    z, k = tw.tensor("Z", (terms,)), tw.reduce_axis("k", terms)
    up = tw.select(k < terms // 2, 100.0, -100.0)
    value = {"mixed": z[k], "squares": z[k] * z[k], "alike": z[0] * 1.0, "up and down": z[k] + up}
    expression = tw.compute("S", (1,), lambda _: tw.sum(value[kind], over=k))
    given = inputs(expression)
    data = given["Z"]
    sign = np.where(np.arange(terms) < terms // 2, np.float32(100), np.float32(-100))
    added = {"mixed": data, "squares": data * data, "up and down": data + sign,
             "alike": np.full(terms, data[0])}[kind]  # fmt: skip
    wanted = rough(expression, given)
    for order, total in orders(added).items():
        assert abs(total - wanted.value[0]) <= wanted.error[0] / 2, order
    if terms == 4608:
        typical = float(np.mean(np.abs(added)))
        assert typical > wanted.error[0] or kind == "up and down", "a missing term is found"


def test_products_and_extremes_pass() -> None:
    p, k = tw.tensor("P", (16, 30)), tw.reduce_axis("k", 30)
    for reduce in (tw.prod, tw.max, tw.min):
        expression = filled(16, lambda i: reduce(p[i, k] * 1.1, over=k))  # noqa: B023 - called now
        given = inputs(expression)
        wanted = rough(expression, given)
        assert accepts(wanted, tw.build(expression)(**given))
        assert not accepts(wanted, wanted.value * 1.0001)


def test_stages_hand_their_error_on() -> None:
    k, j = tw.reduce_axis("k", N), tw.reduce_axis("j", N)
    mean = tw.compute("M", (1,), lambda _: tw.sum(x[k] * (1 / N), over=k))
    square = tw.compute("V", (1,), lambda _: tw.sum((x[j] - mean[0]) * (x[j] - mean[0]), over=j))
    out = tw.compute("R", (N,), lambda i: (x[i] - mean[0]) / tw.sqrt(square[0] * (1 / N)))
    given = inputs(out)
    wanted = rough(out, given)
    assert accepts(wanted, tw.build(out)(**given))
    assert 0 < wanted.error.max() < 1e-3


def test_where_rounding_decides_either_way_is_right() -> None:
    three = x[0] * 3.0
    for value, either in {
        tw.select(three - three < 0.0, 1.0, 2.0): (1.0, 2.0),
        tw.floor(three / three): (0.0, 1.0),
        tw.sqrt(three - three): (0.0, np.nan),
    }.items():
        expression = filled(1, lambda _: value)  # noqa: B023 - called now
        wanted = rough(expression, inputs(expression))
        assert all(accepts(wanted, np.array([one])) for one in either), value
    certain = tw.compute("R", (1,), lambda _: tw.sqrt(-1.0 - x[0] * x[0]))
    wanted = rough(certain, inputs(certain))
    assert accepts(wanted, np.array([np.nan]))
    assert not accepts(wanted, np.array([0.0])), "there certainly is no value"


def test_integers_are_exact() -> None:
    a, b = tw.tensor("A", (4, 8), "int8"), tw.tensor("B", (8, 4), "int8")
    k = tw.reduce_axis("k", 8)
    expression = tw.compute(
        "C", (4, 4), lambda i, j: tw.sum(tw.cast("int32", a[i, k]) * tw.cast("int32", b[k, j]), k)
    )
    wanted = rough(expression, inputs(expression))
    assert wanted.value.dtype == np.int32
    assert not wanted.error.any()
