"""Guarded buffers are ordinary arrays inside, and deadly outside."""

from __future__ import annotations

import math
import signal
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.measure.guard import GuardedArena, poison

TOUCH = """
import ctypes, sys
from tilewright.measure.guard import GuardedArena
shape, align, at, offset, write = eval(sys.argv[1])
arena = GuardedArena()
a = arena.allocate(shape, "float32", align=align, at=at)
a[...] = 1
item = (ctypes.c_float * 1).from_address(a.ctypes.data + offset * 4)
if write:
    item[0] = 2.0
print(item[0], arena.damaged())
"""


def touch(shape: tuple[int, ...], align: int, at: str, offset: int, write: bool):
    case = repr((shape, align, at, offset, write))
    command = [sys.executable, "-c", TOUCH, case]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@given(
    st.lists(st.integers(0, 40), max_size=3),
    st.sampled_from(["float32", "float64", "int8", "bool"]),
    st.sampled_from([8, 64, 4096]),
    st.sampled_from(["end", "start"]),
)
def test_arrays_are_aligned_zero_and_writable(shape: list[int], dtype: str, align: int, at: str):
    arena = GuardedArena()
    array = arena.allocate(shape, dtype, align=align, at=at)  # pyright: ignore[reportArgumentType]
    assert array.shape == tuple(shape)
    assert array.dtype == dtype
    assert array.ctypes.data % align == 0
    assert array.flags.c_contiguous
    assert not array.any()
    array[...] = 1
    assert int(array.sum(dtype=np.int64)) == math.prod(shape)
    assert not arena.damaged()


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize(
    ("shape", "align", "at", "offset"),
    [((16, 64), 64, "end", 1024), ((5,), 4, "end", 5), ((5,), 64, "start", -1), ((), 4, "end", 1)],
)
def test_the_first_element_outside_crashes(
    shape: tuple[int, ...], align: int, at: str, offset: int, write: bool
):
    done = touch(shape, align, at, offset, write)
    assert done.returncode == -signal.SIGSEGV, done.stderr


def test_the_last_element_inside_does_not_crash():
    assert touch((5,), 4, "end", 4, True).stdout == "2.0 False\n"
    assert touch((5,), 4, "start", 0, True).stdout == "2.0 False\n"


@pytest.mark.parametrize(("at", "offset"), [("end", 5), ("end", -1), ("start", 5)])
def test_writes_between_buffer_and_guard_are_found(at: str, offset: int):
    assert touch((5,), 64, at, offset, True).stdout == "2.0 True\n"


def test_arrays_outlive_their_arena():
    array = GuardedArena().allocate((1000,), "float32")
    array.fill(3)
    assert array.sum() == 3000


@pytest.mark.parametrize("align", [0, 3, -8, 1 << 20])
def test_impossible_alignments_are_refused(align: int):
    with pytest.raises(ValueError, match="power of two"):
        GuardedArena().allocate((1,), "float32", align=align)


def test_poison_is_nothing_that_a_kernel_computes():
    for dtype in ("float32", "float64"):
        array = np.zeros(5, dtype)
        poison(array)
        assert np.isnan(array).all()
    for dtype, value in [("int8", -128), ("int32", -(2**31)), ("uint8", 255)]:
        array = np.zeros(5, dtype)
        poison(array)
        assert (array == value).all()
    flags = np.zeros(5, bool)
    poison(flags)
    assert (flags.view(np.uint8) == 255).all()
    with pytest.raises(TypeError, match="cannot poison"):
        poison(np.zeros(5, object))
