"""Matrix products: transposed, batched, with repeated batches, either operand constant or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import tilewright.expr.tensor as te
from tilewright.errors import ExpressionError
from tilewright.expr.affine import Affine
from tilewright.ops import fields, mixed
from tilewright.ops.conv2d import TOLERANCE, check_tolerance, epilogue
from tilewright.ops.strassen import offered, product_space
from tilewright.schedule.schedule import Schedule
from tilewright.target import Target

if TYPE_CHECKING:
    from tilewright.space.knobs import Knobs


@dataclass(frozen=True)
class Matmul:
    """A (..., rows, depth) times B (..., depth, columns), as numpy.matmul does it.

    `batch` holds the dimensions before the matrices'; `batch_a` and `batch_b` those of A and B,
    each as long or 1, along which matrices are repeated, and the same as `batch` if not given. With
    `transpose_a`, A is (..., depth, rows); with `transpose_b`, B is (..., columns, depth).
    `constant` names the operands whose values never change, as in "B". The optional bias D
    (columns,) is added to each row of the result. What is added up in which type, `mixed` says; of
    8-bit integers, B are the weights, and int8.

    `tolerance` is the error that its user accepts beyond that of rounding, as a share of the
    largest result: it admits Strassen's algorithm where B is constant and it may pay; 0 forbids it.
    """

    rows: int
    depth: int
    columns: int
    batch: tuple[int, ...] = ()
    batch_a: tuple[int, ...] | None = None
    batch_b: tuple[int, ...] | None = None
    transpose_a: bool = False
    transpose_b: bool = False
    constant: str = ""
    bias: bool = False
    relu: bool = False
    dtype: str = "float32"
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        fields.check(self)
        check_tolerance("matmul", self.tolerance)
        for which, of in ("batch_a", self.batch_a), ("batch_b", self.batch_b):
            if of is not None and (
                len(of) != len(self.batch)
                or any(n not in (1, whole) for n, whole in zip(of, self.batch, strict=True))
            ):
                raise ExpressionError(
                    f"matmul with batch {self.batch} and {which} {of}: give as many extents, each "
                    "that of the batch, or 1, along which the matrix is repeated."
                )
        if self.constant not in ("", "A", "B"):
            raise ExpressionError(
                f"matmul with constant={self.constant!r}: it is 'A', 'B', or '' for neither."
            )

    @property
    def name(self) -> str:
        batch = "".join(f"{n}x" for n in self.batch)
        a, b = "'" * self.transpose_a, "'" * self.transpose_b
        extras = (
            (f"constant {self.constant}", self.constant),
            ("bias", self.bias),
            ("relu", self.relu),
        )
        text = f"matmul {batch}{self.rows}x{self.depth}{a} by {self.depth}x{self.columns}{b}"
        return text + "".join(f" +{label}" for label, on in extras if on) + fields.of(self.dtype)

    def expression(self) -> te.Tensor:
        batch_a = self.batch if self.batch_a is None else self.batch_a
        batch_b = self.batch if self.batch_b is None else self.batch_b
        of_a = (self.depth, self.rows) if self.transpose_a else (self.rows, self.depth)
        of_b = (self.columns, self.depth) if self.transpose_b else (self.depth, self.columns)
        a = te.tensor("A", (*batch_a, *of_a), self.dtype, constant=self.constant == "A")
        weight = mixed.weights(self.dtype)
        b = te.tensor("B", (*batch_b, *of_b), weight, constant=self.constant == "B")
        along = tuple(te.Axis(f"b{d}", n) for d, n in enumerate(self.batch))
        y, x, k = (
            te.Axis("y", self.rows),
            te.Axis("x", self.columns),
            te.reduce_axis("k", self.depth),
        )
        left = a[(*_repeated(along, batch_a), *((k, y) if self.transpose_a else (y, k)))]
        right = b[(*_repeated(along, batch_b), *((x, k) if self.transpose_b else (k, x)))]
        product = te.stage("product", (*along, y, x), te.sum(mixed.product(left, right), over=k))
        return epilogue(
            product, self.columns, bias=self.bias, residual=False, relu=self.relu,
            dtype=self.dtype, bias_name="D",
        )  # fmt: skip

    def space(self, s: Schedule, knob: Knobs, target: Target) -> Schedule:
        sizes = self.rows, self.depth, self.columns
        plain = self.constant == "B" and not self.batch
        levels = offered(sizes, self.dtype, self.tolerance) if plain else ()
        return product_space(s, knob, target, levels, ("y", "x", "k"))


def _repeated(along: tuple[te.Axis, ...], shape: tuple[int, ...]) -> tuple[Affine, ...]:
    return tuple(i.affine if n > 1 else Affine() for i, n in zip(along, shape, strict=True))
