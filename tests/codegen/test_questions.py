"""What leaves out a whole loop is asked once in front of it, not for each block inside."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from tests.differential import check_compiled

import tilewright as tw
from tilewright import Schedule
from tilewright.codegen.llvm.control import Control
from tilewright.codegen.llvm.module import module


def text(s: Schedule) -> str:
    return module(s.loops, tw.host()).text


@pytest.mark.parametrize("inner", ["unroll", "vectorize"])
def test_a_condition_on_all_of_a_loop_is_tested_once(inner: str) -> None:
    a, i = tw.tensor("A", (12, 34)), tw.reduce_axis("i", 3)
    h = tw.compute("H", (10, 34), lambda y, x: tw.sum(a[y + i, x], over=i))
    s = Schedule(tw.compute("O", (10, 32), lambda y, x: h[y, x] + h[y, x + 2]))
    s = s.split("O:y", (4, 3)).compute_at("H", "O:y.1").parallel("O:y.0")
    for loop in "x", "O:x":
        s = s.unroll(loop) if inner == "unroll" else s.vectorize(loop)
    assert str(s.loops).count("if ") == 2
    # Two rounds of O:y.1 may lie outside, and each of them has a loop for either stage.
    assert text(s).count("label %if") == 4
    check_compiled(s)


def test_registers_live_behind_a_condition_on_a_loop() -> None:
    """Rows that are left out keep what the tile held; the loop in between is one at run time."""
    a, b = tw.tensor("A", (10, 6)), tw.tensor("B", (6, 16))
    k = tw.reduce_axis("k", 6)
    s = Schedule(tw.compute("C", (10, 16), lambda y, x: tw.sum(a[y, k] * b[k, x], over=k)))
    s = s.split("y", (4, 3)).reorder("y.0", "y.1", "k", "x").vectorize("x")
    for at in "y.0", "y.1":
        made = s.parallel("y.0").cache_write("C", at)
        check_compiled(made.unroll("y.1") if at == "y.0" else made.parallel("y.1"))


def test_zeros_of_a_table_are_not_visited() -> None:
    numbers = np.eye(8) * 3
    numbers[2, 5] = -1
    t, x = tw.table("T", numbers), tw.tensor("X", (8, 32))
    i = tw.reduce_axis("i", 8)
    s = Schedule(tw.compute("Y", (8, 32), lambda r, c: tw.sum(t[r, i] * x[i, c], over=i)))
    s = s.reorder("r", "i", "c").unroll("r").unroll("i").vectorize("c").cache_write("Y", "r")
    seen: list[str] = []
    emit = Control.vectorized
    with mock.patch.object(
        Control, "vectorized", lambda c, loop: (seen.append(loop.name), emit(c, loop))
    ):
        text(s)
    assert seen.count("c") == 8 + np.count_nonzero(numbers)  # eight times zero at first
    check_compiled(s)
