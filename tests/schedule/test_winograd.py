"""Winograd's method: exact in exact arithmetic, for any size and tile; refused elsewhere."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.errors import ScheduleError
from tilewright.expr.interpret import evaluate
from tilewright.loops.interpret import interpret
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.ops.matmul import Matmul
from tilewright.schedule.schedule import Schedule
from tilewright.schedule.toom_cook import short_filter
from tilewright.schedule.winograd import error

TILES = (2, 3, 4, 5, 6)


@given(m=st.integers(1, 6), r=st.integers(1, 4), step=st.integers(1, 3), seed=st.integers(0, 99))
def test_a_short_filter_is_exact(m: int, r: int, step: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = [Fraction(int(n)) for n in rng.integers(-9, 10, step * (m - 1) + r)]
    taps = [Fraction(int(n)) for n in rng.integers(-9, 10, r)]
    f = short_filter(m, r, step)

    def times(matrix: Any, vector: list[Fraction]) -> list[Fraction]:
        return [
            sum((a * b for a, b in zip(row, vector, strict=True)), Fraction()) for row in matrix
        ]

    products = [a * b for a, b in zip(times(f.weight, taps), times(f.input, data), strict=True)]
    wanted = [sum(data[step * i + k] * taps[k] for k in range(r)) for i in range(m)]
    assert times(f.output, products) == wanted
    assert len(products) == min(step, r) * (m - 1) + r


def test_the_filter_of_one_tap_is_no_work() -> None:
    one = short_filter(3, 1)
    assert one.input == one.output == tuple(tuple(int(i == j) for j in range(3)) for i in range(3))


def _schedule(op: Conv2d, tile: int, taps: int = 3) -> Schedule:
    s = Schedule(op.expression())
    return (s.inline("pad") if any(op.pads) else s).winograd("conv", tile, taps)


def _inputs(op: Conv2d, rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {t.name: rng.standard_normal(t.shape).astype(np.float32) for t in op.expression().inputs}


@settings(max_examples=25, deadline=None)
@given(
    size=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    kernel=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    pads=st.tuples(*[st.integers(0, 2)] * 4),
    channels=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    groups=st.integers(1, 2),
    batch=st.integers(1, 2),
    tile=st.sampled_from(TILES),
    extras=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_the_nest_means_the_convolution(
    size: tuple[int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    pads: tuple[int, int, int, int],
    channels: tuple[int, int],
    groups: int,
    batch: int,
    tile: int,
    extras: tuple[bool, bool, bool],
) -> None:
    """In float64 nothing is lost; in float32 no more than is stated."""
    if size[0] + pads[0] + pads[2] < kernel[0] or size[1] + pads[1] + pads[3] < kernel[1]:
        return
    op = Conv2d(
        batch, *size, channels[0] * groups, channels[1] * groups, kernel, stride, pads,
        groups=groups, bias=extras[0], residual=extras[1], relu=extras[2],
    )  # fmt: skip
    taps = max(-(-k // step) for k, step in zip(kernel, stride, strict=True))
    if math.isinf(error(tile, taps)):
        return
    data = _inputs(op, np.random.default_rng(0))
    s = _schedule(op, tile, taps)
    name = op.expression().name
    wanted = evaluate(op.expression(), data)[name]
    # Weights are transformed in float64 and rounded once.
    np.testing.assert_allclose(interpret(s.loops, data)[name], wanted, rtol=1e-4, atol=1e-4)
    kernel_ = tw.build(s, threads=1)
    got = kernel_(*(data[b.name] for b in kernel_.inputs))
    largest = max(float(np.abs(wanted).max()), 1.0)
    assert np.abs(got - wanted).max() <= (s.error + 2e-6) * largest


def test_weights_are_transformed_at_compile_time() -> None:
    op = Conv2d(1, 6, 6, 2, 3, (3, 3), pads=(1, 1, 1, 1))
    nest = _schedule(op, 4).loops
    (weights,) = (b for b in nest.buffers if b.made)
    assert (weights.scope, weights.source, weights.shape) == ("constant", "W", (6, 6, 2, 3))
    packed = _schedule(op, 4).pack("conv.weights").loops
    assert [b.name for b in packed.buffers if b.made] == ["conv.weights.packed"]


def _stage(value: Any, constant: bool = True, shape: tuple[int, ...] = (6, 6, 2)) -> Schedule:
    x = tw.tensor("X", (9, 9, 2))
    w = tw.tensor("W", (3, 3, 2), constant=constant)
    ky, kx = tw.reduce_axis("ky", 3), tw.reduce_axis("kx", 3)

    def body(y: Any, x_: Any, c: Any) -> Any:
        return tw.sum(value(x, w, y, x_, c, ky, kx), over=(ky, kx))

    return Schedule(tw.compute("conv", shape, body))


REFUSED = {
    "a stride": (
        lambda: (
            _stage(lambda x, w, y, x_, c, ky, kx: x[y + ky, x_ + kx, c] * w[ky, kx, c])
            .split("x_", (2, 3))
            .winograd("conv", 2)
        ),
        "no dilation",
    ),
    "weights given at run time": (
        lambda: _stage(
            lambda x, w, y, x_, c, ky, kx: x[y + ky, x_ + kx, c] * w[ky, kx, c], constant=False
        ).winograd("conv", 2),
        "constant weights",
    ),
    "no product": (
        lambda: _stage(lambda x, _, y, x_, c, ky, kx: x[y + ky, x_ + kx, c] + 1.0).winograd(
            "conv", 2
        ),
        "no sum of products",
    ),
    "taps two apart": (
        lambda: _stage(
            lambda x, w, y, x_, c, ky, kx: x[y + 2 * ky, x_ + 2 * kx, c] * w[ky, kx, c],
            shape=(5, 5, 2),
        ).winograd("conv", 2),
        "no dilation",
    ),
    "two steps at once": (
        lambda: _stage(
            lambda x, w, y, x_, c, ky, kx: (
                tw.select(2 * y + ky < 3, x[y + ky, x_ + kx, c], 0.0) * w[ky, kx, c]
            ),
        ).winograd("conv", 2),
        "'y' and 'ky' are used other than as a sum",
    ),
    "an index used apart": (
        lambda: _stage(
            lambda x, w, y, x_, c, ky, kx: (
                tw.select(y < 3, x[y + ky, x_ + kx, c], 0.0) * w[ky, kx, c]
            )
        ).winograd("conv", 2),
        "'y' and 'ky' are used other than as a sum",
    ),
    "a matrix product": (
        lambda: Schedule(Dense(8, 8, 8).expression()).winograd("product", 2),
        "it is no convolution",
    ),
    "a product of no constants": (
        lambda: Schedule(Matmul(8, 8, 8).expression()).winograd("product", 2),
        "it is no convolution",
    ),
    "weights that depend on the place": (
        lambda: _stage(
            lambda x, w, y, x_, c, ky, kx: x[y + ky, x_ + kx, c] * w[ky, kx, c],
        ).winograd("conv", 7),
        "a tile of 3 taps is one of 2, 3, 4, 5, 6",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_plain_convolution_is_refused(name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises(ScheduleError, match=message):
        make()


def test_depthwise_is_transformed_too() -> None:
    s = _stage(lambda x, w, y, x_, c, ky, kx: x[y + ky, x_ + kx, c] * w[ky, kx, c])
    rng = np.random.default_rng(0)
    data = {t.name: rng.standard_normal(t.shape).astype("f4") for t in s.output.inputs}
    wanted = evaluate(s.output, data)["conv"]
    got = interpret(s.winograd("conv", 2).loops, data)["conv"]
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


def _named(y: str = "y", c: str = "c", o: str = "o", data: Any = None) -> Schedule:
    x_, w = tw.tensor("X", (8, 8, 4)), tw.tensor("W", (3, 3, 4, 4), constant=True)
    ky, kx, k = tw.reduce_axis("ky", 3), tw.reduce_axis("kx", 3), tw.reduce_axis(c, 4)
    axes = (tw.Axis(y, 6), tw.Axis("x", 6), tw.Axis(o, 4))
    a, b, out = axes
    value = x_[a + ky, b + kx, k] if data is None else data(x_, a, b, ky, kx, k)
    made = tw.sum(value * w[ky, kx, k, out], over=(ky, kx, k))
    return Schedule(tw.expr.tensor.stage("conv", axes, made))


WRONG = {
    "an axis called as one that it makes": lambda: _named(o="i"),
    "a reduction called as one that it makes": lambda: _named(c="ix"),
    "a condition on 2 y + ky": lambda: _named(
        data=lambda x, a, b, ky, kx, k: tw.select(2 * a + ky < 5, x[a + ky, b + kx, k], 0.0)
    ),
    "a condition on y - ky": lambda: _named(
        data=lambda x, a, b, ky, kx, k: tw.select(a - ky >= 1, x[a + ky, b + kx, k], 0.0)
    ),
    "others in its loops": lambda: Schedule(Conv2d(1, 7, 9, 5, 6, (3, 3)).expression()).cache_read(
        "X", "n"
    ),
    "weights that are packed": lambda: Schedule(Conv2d(1, 7, 9, 5, 6, (3, 3)).expression()).pack(
        "W"
    ),
    "a large filter": lambda: Schedule(Conv2d(1, 9, 9, 4, 4, (5, 5)).expression()),
    "a large filter in steps": lambda: Schedule(Conv2d(1, 9, 9, 4, 4, (8, 8), (2, 2)).expression()),
    "another type": lambda: Schedule(Conv2d(1, 9, 9, 4, 4, (3, 3), dtype="float64").expression()),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_it_would_compute_wrongly_is_refused(name: str) -> None:
    s = WRONG[name]()
    with pytest.raises(ScheduleError, match="winograd"):
        s.winograd("conv", 2)


def test_any_other_names_are_right() -> None:
    s = _named(y="h", c="depth", o="channel")
    rng = np.random.default_rng(1)
    data = {t.name: rng.standard_normal(t.shape).astype("f4") for t in s.output.inputs}
    kernel = tw.build(s.winograd("conv", 4), threads=1)
    got = kernel(*(data[b.name] for b in kernel.inputs))
    wanted = evaluate(s.output, data)["conv"]
    assert np.abs(got - wanted).max() <= 4e-5 * np.abs(wanted).max()
