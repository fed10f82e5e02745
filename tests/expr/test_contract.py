"""Sums of products: few terms are summed in pairs without BLAS, and that is what einsum gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright.expr import interpret
from tilewright.expr.interpret import contract
from tilewright.expr.tensor import Axis, reduce_axis

CASES = {
    "Winograd's": ("ia", "jb", "abck"),
    "one factor": ("ijckab",),
    "a factor without axes": ("", "ijab", "ck"),
    "an axis in none": ("ij", "ck"),
    "nothing shared": ("ia", "jb", "ck"),
    "shared but not summed": ("ijck", "ijckab", "ab"),
    "summed in one alone": ("ijckb", "a", "ij"),
}
SIZES = {"i": 3, "j": 2, "c": 4, "k": 5, "a": 2, "b": 7}


@pytest.mark.parametrize("terms", CASES.values(), ids=CASES)
@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_few_terms_sum_to_what_many_do(
    terms: tuple[str, ...], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    axes: list[Axis] = [reduce_axis(name, size) for name, size in SIZES.items()]
    factors: list[Any] = []
    for term in terms:
        shape = [size if name in term else 1 for name, size in SIZES.items()]
        factors.append((rng.standard_normal(shape) * 8).astype(dtype))
    few = contract(factors, axes, 4)
    whole = [np.broadcast_to(factor, tuple(SIZES.values())) for factor in factors]
    np.testing.assert_allclose(few, np.prod(whole, axis=0).sum(axis=(4, 5)), rtol=1e-12)
    assert few.dtype == dtype
    monkeypatch.setattr(interpret, "_FEW", 0)
    np.testing.assert_allclose(contract(factors, axes, 4), few, rtol=1e-12)
