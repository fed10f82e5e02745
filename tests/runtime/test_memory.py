"""Arrays on cache lines, and where arrays lie."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tilewright.runtime.memory import ALIGNMENT, LARGE, address, aligned, empty, together


@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (0, 4), (7, 1, 129)])
@pytest.mark.parametrize("dtype", ["float32", "bool", "int64", "bfloat16"])
def test_empty_arrays_start_on_a_cache_line(shape: tuple[int, ...], dtype: str) -> None:
    made = empty(shape, dtype)
    assert made.shape == shape
    assert made.dtype.name == dtype
    assert made.flags.c_contiguous
    assert made.flags.writeable
    assert made.ctypes.data % ALIGNMENT == 0
    made[...] = 1
    assert np.all(made == 1)


def test_addresses_of_all_kinds_of_arrays() -> None:
    fixed = np.arange(6.0)
    fixed.flags.writeable = False
    kinds = (
        fixed,
        np.zeros((0, 3)),
        np.arange(9)[::2],
        np.zeros(4, ml_dtypes.bfloat16),
        empty((3,), "int8"),
    )
    for array in kinds:
        assert address(array) == array.ctypes.data


def test_what_is_aligned_is_not_copied() -> None:
    made = empty((4, 4), "float32")
    assert aligned(made) is made
    made[...] = np.arange(16).reshape(4, 4)
    moved = aligned(made[:, 1:])
    assert moved.ctypes.data % ALIGNMENT == 0
    np.testing.assert_array_equal(moved, made[:, 1:])


def test_small_arrays_lie_together() -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 255, n).astype(np.uint8) for n in (3, 64, 0, LARGE, 129)]
    placed = together(arrays)
    assert all(np.array_equal(a, b) for a, b in zip(arrays, placed, strict=True))
    assert placed[3] is arrays[3]
    at = [placed[i].ctypes.data for i in (0, 1, 4)]
    assert [place - at[0] for place in at] == [0, 64, 128]
    assert at[0] % ALIGNMENT == 0
    assert together([]) == []
