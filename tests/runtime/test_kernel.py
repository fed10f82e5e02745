"""Kernels on arrays: what they take, what they refuse, and where they can run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.schedule.programs import matmul, padded_convolution, pointwise

import tilewright as tw
from tilewright import Schedule, Target
from tilewright.errors import ArgumentError, TargetError

A = np.arange(12, dtype=np.float32)


class Shy:
    """An array that is not given away, as a tensor of PyTorch that requires a gradient."""

    def __dlpack__(self, **_: object) -> object:
        raise BufferError("it cannot be shared.")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@pytest.fixture(scope="module")
def kernel() -> tw.Kernel:
    return tw.build(pointwise(), threads=1)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ((), r"takes 1 array \("),
        ((A, A), "given 2"),
        ((A[:5],), r"given shape \(5,\)"),
        ((A.reshape(3, 4),), r"given shape \(3, 4\)"),
        ((A.astype(np.float64),), "astype"),
        ((A.astype(">f4"),), "astype"),
        ((A.tolist(),), "wants an array"),
        ((Shy(),), r"cannot be shared. Pass a plain array .* tensor.detach\(\).cpu\(\)"),
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


def test_arrays_may_be_named(kernel: tw.Kernel) -> None:
    np.testing.assert_array_equal(kernel(A=A), A + 1)
    product = tw.build(matmul(4), threads=1)
    a, w = np.random.default_rng(0).standard_normal((2, 4, 4), np.float32)
    np.testing.assert_array_equal(product(W=w, A=a), product(a, w))
    np.testing.assert_array_equal(product(a, W=w), product(a, w))
    np.testing.assert_array_equal(product.bind(W=w, A=a)(), product(a, w))


@pytest.mark.parametrize(
    ("arrays", "named", "said"),
    [
        ((), {"a": A}, "there is no input 'a'"),
        ((A,), {"A": A}, "'A' is given twice"),
        ((A,), {"x": A}, "there is no input 'x'"),
    ],
)
def test_wrong_names_are_refused(
    kernel: tw.Kernel, arrays: tuple[Any, ...], named: dict[str, Any], said: str
) -> None:
    with pytest.raises(ArgumentError, match=said):
        kernel(*arrays, **named)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True, [1], 1025, 10**9])
def test_wrong_numbers_of_threads_are_refused(kernel: tw.Kernel, threads: Any) -> None:
    with pytest.raises(ArgumentError, match="a whole number from 1 to 1024"):
        kernel(A, threads=threads)
    with pytest.raises(ArgumentError, match="a whole number from 1 to 1024"):
        tw.build(pointwise(), threads=threads)


def test_what_is_bound_is_read_at_each_call(kernel: tw.Kernel) -> None:
    a = A.copy()
    bound = kernel.bind(a)
    a[:] = 7
    np.testing.assert_array_equal(bound(), a + 1)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24, dtype=np.float32)[::2],
        A[::-1],
        np.broadcast_to(np.float32(1), 12),
        np.frombuffer(b"x" + A.tobytes(), np.float32, offset=1),
    ],
    ids=["strided", "reversed", "broadcast", "not aligned"],
)
def test_what_would_be_copied_is_not_bound(kernel: tw.Kernel, array: Any) -> None:
    with pytest.raises(ArgumentError, match=r"cannot bind A, .* np.ascontiguousarray\(array\)"):
        kernel.bind(array)


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (3, r"cannot build 3 \(int\)"),
        (tw.tensor("A", (3,)), "cannot build 'A': it is an input"),
        ("model.onnx", "compile"),
    ],
)
def test_what_is_no_program_is_not_built(what: Any, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        tw.build(what)


def test_a_kernel_prints_in_a_line(kernel: tw.Kernel) -> None:
    assert repr(kernel) == "Kernel(A: float32 12 -> B: float32 12; threads=1)"


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
        (Target("odd", tw.host().triple, tw.host().cpu, ("+made-up",), 1, 16, 16), "lacks"),
    ],
)
def test_what_cannot_run_here_is_refused(target: Target, said: str) -> None:
    with pytest.raises(TargetError, match=said):
        tw.build(pointwise(), target)


def test_wider_vectors_than_the_machine_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = replace(tw.host(), vector_bytes=16)
    monkeypatch.setattr("tilewright.runtime.artifact.host", lambda: narrow)
    monkeypatch.setattr("tilewright.runtime.artifact.surely_runs", lambda _: False)  # pyright: ignore
    with pytest.raises(TargetError, match="vectors of 512 bits"):
        tw.build(pointwise(), replace(narrow, vector_bytes=64))


def test_unknown_target_lists_the_known() -> None:
    with pytest.raises(TargetError, match="x86-64-v3"):
        Target("pentium")


class Raising:
    def __dlpack__(self, **_: object) -> object:
        raise AttributeError("not on this machine")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (Raising(), "can be shared, given Raising: not on this machine"),
        (np.ma.masked_array(np.ones(8, np.float32), mask=[True] * 8), "given a masked array"),
    ],
)
def test_arrays_that_are_none_are_refused(array: object, message: str):
    x = tw.tensor("X", (8,))
    kernel = tw.build(tw.compute("Y", (8,), lambda i: x[i] * 2.0))
    for call in kernel, kernel.bind:
        with pytest.raises(ArgumentError, match=message):
            call(array)
