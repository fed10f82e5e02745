"""A matrix times a vector: as much data as work, so that memory is the limit."""

from __future__ import annotations

from dataclasses import dataclass

import tilewright.expr.tensor as te
from tilewright.ops import fields, mixed
from tilewright.ops.conv2d import epilogue


@dataclass(frozen=True)
class MatVec:
    """W (rows, columns) times X (columns); with `constant` W never changes, and may be packed.

    What is added up in which type, `mixed` says.
    """

    rows: int
    columns: int
    constant: bool = True
    bias: bool = False
    relu: bool = False
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)

    @property
    def name(self) -> str:
        extras = (("bias", self.bias), ("relu", self.relu), ("varying", not self.constant))
        text = f"matvec {self.rows}x{self.columns}"
        return text + "".join(f" +{label}" for label, on in extras if on) + fields.of(self.dtype)

    def expression(self) -> te.Tensor:
        weight = mixed.weights(self.dtype)
        w = te.tensor("W", (self.rows, self.columns), weight, constant=self.constant)
        x = te.tensor("X", (self.columns,), self.dtype)
        k = te.reduce_axis("k", self.columns)
        product = te.compute(
            "product", (self.rows,), lambda y: te.sum(mixed.product(w[y, k], x[k]), over=k)
        )
        return epilogue(
            product, self.rows, bias=self.bias, residual=False, relu=self.relu, dtype=self.dtype
        )
