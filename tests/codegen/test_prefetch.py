"""Prefetches stand in the last stage that loads a tensor, once for each vector."""

from __future__ import annotations

import re

import numpy as np

import tilewright as tw
from tilewright import Schedule, Target
from tilewright.runtime.artifact import compile_nest


def test_what_two_stages_read_is_asked_for_in_the_last() -> None:
    x, k = tw.tensor("X", (8, 64)), tw.reduce_axis("k", 64)
    total = tw.compute("total", (8,), lambda i: tw.sum(x[i, k], over=k))
    made = tw.compute("out", (8, 64), lambda i, j: x[i, j] * total[i])
    schedule = Schedule(made).compute_at("total", "out:i").split("k", (4, 16))
    schedule = schedule.rfactor("total", "k.1").vectorize("k.1").vectorize("j")
    asked = schedule.prefetch("X", 256)
    text = compile_nest(asked.loops, Target("x86-64-v4")).llvm
    at = [m.start() for m in re.finditer(r"call void @llvm.prefetch", text)]
    assert len(at) == 4  # of 16 lanes each, in `out` alone
    assert at[0] > text.rindex("fadd")
    given = np.random.default_rng(0).normal(0, 1, (8, 64)).astype(np.float32)
    np.testing.assert_array_equal(tw.build(asked)(given), tw.build(schedule)(given))
