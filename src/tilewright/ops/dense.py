"""Matrix products with a constant right-hand side: dense layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import tilewright.expr.tensor as te
from tilewright.ops import fields, mixed
from tilewright.ops.conv2d import TOLERANCE, check_tolerance, epilogue
from tilewright.ops.strassen import offered, product_space
from tilewright.schedule.schedule import Schedule
from tilewright.target import Target

if TYPE_CHECKING:
    from tilewright.space.knobs import Knobs


@dataclass(frozen=True)
class Dense:
    """X (rows, features_in) times W (features_in, features_out), constant; optional B, R, ReLU.

    `tolerance` is the error that its user accepts beyond that of rounding, as a share of the
    largest result: it admits Strassen's algorithm where that may pay; 0 forbids it.
    """

    rows: int
    features_in: int
    features_out: int
    bias: bool = False
    residual: bool = False
    relu: bool = False
    dtype: str = "float32"
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        fields.check(self)
        check_tolerance("dense", self.tolerance)

    @property
    def name(self) -> str:
        extras = (("bias", self.bias), ("add", self.residual), ("relu", self.relu))
        text = f"dense {self.rows}x{self.features_in} -> {self.features_out}"
        return text + "".join(f" +{label}" for label, on in extras if on) + fields.of(self.dtype)

    def expression(self) -> te.Tensor:
        """Return the stages; their types are those of `mixed`."""
        return epilogue(
            self.sums(), self.features_out, bias=self.bias, residual=self.residual, relu=self.relu,
            dtype=self.dtype,
        )  # fmt: skip

    def sums(self) -> te.Tensor:
        """Return the product, without what is done to its sums."""
        x = te.tensor("X", (self.rows, self.features_in), self.dtype)
        weight = mixed.weights(self.dtype)
        w = te.tensor("W", (self.features_in, self.features_out), weight, constant=True)
        k = te.reduce_axis("k", self.features_in)
        return te.compute(
            "product",
            (self.rows, self.features_out),
            lambda y, x_: te.sum(mixed.product(x[y, k], w[k, x_]), over=k),
        )

    def space(self, s: Schedule, knob: Knobs, target: Target) -> Schedule:
        sizes = self.rows, self.features_in, self.features_out
        levels = offered(sizes, self.dtype, self.tolerance)
        return product_space(s, knob, target, levels, ("y", "x_", "k"))
