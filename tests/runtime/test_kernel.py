"""Kernels on arrays: what they take, what they refuse, and where they can run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from tests.schedule.programs import matmul, padded_convolution, pointwise

import tilewright as tw
from tilewright import Schedule, Target
from tilewright.errors import ArgumentError, TargetError

A = np.arange(12, dtype=np.float32)


@pytest.fixture(scope="module")
def kernel() -> tw.Kernel:
    return tw.build(pointwise(), threads=1)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ((), "takes 1 arrays"),
        ((A, A), "given 2"),
        ((A[:5],), r"given shape \(5,\)"),
        ((A.reshape(3, 4),), r"given shape \(3, 4\)"),
        ((A.astype(np.float64),), "astype"),
        ((A.astype(">f4"),), "astype"),
        ((A.tolist(),), "wants an array"),
        ((None,), "wants an array"),
    ],
)
def test_wrong_arrays_are_refused(kernel: tw.Kernel, arrays: tuple[Any, ...], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        kernel(*arrays)


@pytest.mark.parametrize(
    "out",
    [
        np.empty(11, np.float32),
        np.empty(12, np.float64),
        np.empty(24, np.float32)[::2],
        np.broadcast_to(np.float32(0), 12),
        [0.0] * 12,
        A,
    ],
    ids=["shape", "dtype", "strides", "read-only", "list", "an input"],
)
def test_wrong_out_is_refused(kernel: tw.Kernel, out: Any) -> None:
    with pytest.raises(ArgumentError):
        kernel(A, out=out)


def test_views_and_odd_addresses_are_taken(kernel: tw.Kernel) -> None:
    wide = np.arange(24, dtype=np.float32)
    odd = np.frombuffer(b"x" + A.tobytes(), np.float32, offset=1)
    np.testing.assert_array_equal(kernel(wide[::2]), wide[::2] + 1)
    np.testing.assert_array_equal(kernel(A[::-1]), A[::-1] + 1)
    np.testing.assert_array_equal(kernel(odd), A + 1)


def test_out_is_filled_and_returned(kernel: tw.Kernel) -> None:
    out = np.full(12, np.nan, np.float32)
    assert kernel(A, out=out) is out
    np.testing.assert_array_equal(out, A + 1)


def test_a_scalar_goes_in_and_comes_out() -> None:
    a = tw.tensor("A", (), constant=True)
    schedule = Schedule(tw.compute("B", (), lambda: a[()] * 2.0)).pack("A")
    result = tw.build(schedule)(np.array(3, np.float32))
    assert result.shape == ()
    assert result == 6


def test_another_constant_is_packed_again() -> None:
    kernel = tw.build(Schedule(matmul(4)).pack("W"), threads=1)
    a = np.eye(4, dtype=np.float32)
    for scale in (1, 2, 3):
        w = np.full((4, 4), scale, np.float32)
        np.testing.assert_array_equal(kernel(a, w), w)


def test_calls_from_several_threads_do_not_mix() -> None:
    kernel = tw.build(padded_convolution(1000), threads=1)
    rng = np.random.default_rng(0)
    w, v = rng.standard_normal((3, 4), np.float32), rng.standard_normal(4, np.float32)
    given = [rng.standard_normal(1000, np.float32) for _ in range(40)]
    wanted = [kernel(a, w, v) for a in given]
    with ThreadPoolExecutor(4) as pool:
        for got, want in zip(pool.map(lambda a: kernel(a, w, v), given), wanted, strict=True):
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (Target("board", "aarch64-linux-gnu", "cortex-a72", (), 4, 16, 32), "aarch64"),
        (Target("wide", tw.host().triple, tw.host().cpu, (), 1, 1024, 32), "vectors of 8192 bits"),
        (Target("odd", tw.host().triple, tw.host().cpu, ("+made-up",), 1, 16, 16), "lacks"),
    ],
)
def test_what_cannot_run_here_is_refused(target: Target, said: str) -> None:
    with pytest.raises(TargetError, match=said):
        tw.build(pointwise(), target)


def test_unknown_target_lists_the_known() -> None:
    with pytest.raises(TargetError, match="x86-64-v3"):
        Target("pentium")
