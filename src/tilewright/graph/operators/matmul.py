"""Matrix products, as NumPy's matmul."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.graph.ir import Shape, Type
from tilewright.graph.operators.operator import (
    Attributes,
    ByKernel,
    Work,
    integer,
    one_type,
    refuse_unless,
)
from tilewright.ops.dense import Dense
from tilewright.ops.matmul import Matmul as MatmulWork


class Matmul(ByKernel):
    """A (..., m, k) times B (..., k, n), whose axes before the last two are repeated.

    Attributes transpose_a and transpose_b (0 or 1) say that the last two axes are the other way.
    Bytes are multiplied with bytes of int8, and add up in int32.
    """

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        A, B = inputs
        bytes_ = _of_bytes(inputs)
        dtype = "int32" if bytes_ else one_type("a product", inputs)
        shapes = " and ".join("x".join(map(str, t.shape)) for t in inputs)
        refuse_unless(
            min(len(A.shape), len(B.shape)) >= 2, f"a product of {shapes}: both are matrices."
        )
        (m, k), (depth, n) = _sizes(A, attributes, "a"), _sizes(B, attributes, "b")
        refuse_unless(k == depth, f"a product of {shapes}, in which {k} and {depth} do not agree.")
        try:
            batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
        except ValueError:
            batch = ()
            refuse_unless(False, f"a product of {shapes}, whose first axes do not fit each other.")
        return Type((*batch, m, n), dtype)

    def compute(
        self, arrays: Sequence[np.ndarray], inputs: Sequence[Type], attributes: Attributes
    ) -> np.ndarray:
        A, B = (
            array.swapaxes(-1, -2) if attributes[f"transpose_{which}"] else array
            for array, which in zip(arrays, "ab", strict=True)
        )
        return A.astype(np.int32) @ B.astype(np.int32) if _of_bytes(inputs) else A @ B

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        A, B = inputs
        (m, k), (_, n) = _sizes(A, attributes, "a"), _sizes(B, attributes, "b")
        across = (integer(attributes, "transpose_a"), integer(attributes, "transpose_b"))
        if B.constant and len(B.shape) == 2 and across == (0, 0):
            return Work(Dense(math.prod(A.shape[:-1]), k, n, dtype=A.dtype), ("X", "W"))
        of: list[Shape] = [A.shape[:-2], B.shape[:-2]]
        if not any(math.prod(b) > 1 for b in of):
            of = [(), ()]
        elif len(B.shape) == 2 and not across[0]:  # each row of A is by itself
            of, m = [(), ()], math.prod(A.shape[:-1])
        batch = np.broadcast_shapes(*of)
        full = [(1,) * (len(batch) - len(b)) + tuple(b) for b in of]
        constant = "B" if B.constant else "A" if A.constant else ""
        made: Any = MatmulWork(
            m, k, n, batch, full[0], full[1], bool(across[0]), bool(across[1]), constant,
            dtype=A.dtype,
        )  # fmt: skip
        return Work(made, ("A", "B"))


def _of_bytes(inputs: Sequence[Type]) -> bool:
    A, B = inputs
    return A.dtype in ("int8", "uint8") and B.dtype == "int8"


def _sizes(of: Type, attributes: Attributes, which: str) -> tuple[int, int]:
    rows, columns = of.shape[-2:]
    return (columns, rows) if attributes[f"transpose_{which}"] else (rows, columns)
