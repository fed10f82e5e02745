"""Vectors that are not full: what the lanes beyond their end hold is never stored."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright.expr.interpret import evaluate


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize(
    ("extent", "limit", "lanes"), [(3, 1, 3), (4, 1, 4), (4, 2, 4), (3, 1, 2), (4, 2, 8)]
)
def test_a_sum_of_scalars_behind_a_condition_on_the_lanes(
    extent: int, limit: int, lanes: int, split: bool
) -> None:
    """No operand differs between lanes, only whether the sum is wanted there."""
    x, w, k = tw.tensor("X", (4, 5)), tw.tensor("W", (5,)), tw.reduce_axis("k", 5)
    c = tw.compute(
        "C",
        (4, extent),
        lambda q, z: tw.sum(tw.select(z < limit, x[q, k] * w[k], 0.0), over=k),
    )
    s = tw.Schedule(c).split("q", (2, 2))
    if split:
        s = s.split("z", (-(-extent // lanes), lanes)).reorder("q.0", "z.0", "k", "q.1", "z.1")
        s = s.unroll("q.1").vectorize("z.1").unroll("k").cache_write("C", "z.0")
    else:
        s = s.reorder("q.0", "k", "q.1", "z").unroll("q.1").vectorize("z").unroll("k")
        s = s.cache_write("C", "q.0")
    given = {
        "X": np.random.default_rng(0).standard_normal((4, 5)).astype("f4"),
        "W": np.ones(5, "f4"),
    }
    kernel = tw.build(s)
    got = kernel(*(given[b.name] for b in kernel.inputs))
    np.testing.assert_allclose(got, evaluate(c, given)["C"], rtol=1e-6, atol=1e-6)
