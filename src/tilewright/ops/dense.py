"""Matrix products with a constant right-hand side: dense layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import tilewright.expr.tensor as te
from tilewright.ops.conv2d import epilogue
from tilewright.schedule.schedule import Schedule
from tilewright.target import Target

if TYPE_CHECKING:
    from tilewright.space.knobs import Knobs


@dataclass(frozen=True)
class Dense:
    """X (rows, features_in) times W (features_in, features_out), constant; optional B, R, ReLU."""

    rows: int
    features_in: int
    features_out: int
    bias: bool = False
    residual: bool = False
    relu: bool = False
    dtype: str = "float32"

    @property
    def name(self) -> str:
        extras = (("bias", self.bias), ("add", self.residual), ("relu", self.relu))
        text = f"dense {self.rows}x{self.features_in} -> {self.features_out}"
        return text + "".join(f" +{label}" for label, on in extras if on)

    def expression(self) -> te.Tensor:
        x = te.tensor("X", (self.rows, self.features_in), self.dtype)
        w = te.tensor("W", (self.features_in, self.features_out), self.dtype, constant=True)
        k = te.reduce_axis("k", self.features_in)
        product = te.compute(
            "product",
            (self.rows, self.features_out),
            lambda y, x_: te.sum(x[y, k] * w[k, x_], over=k),
        )
        return epilogue(
            product, self.features_out, bias=self.bias, residual=self.residual, relu=self.relu
        )

    def space(self, s: Schedule, knob: Knobs, target: Target) -> Schedule:
        return product(s, knob, target, "product", ("y", "x_", "k"), packed=("W",))


def product(
    s: Schedule,
    knob: Knobs,
    target: Target,
    stage: str,
    loops: tuple[str, str, str],
    packed: tuple[str, ...],
) -> Schedule:
    """A register tile of rows x column vectors, the reduction inside; operands packed if asked."""
    y, x, k = loops
    lanes = target.lanes(4)
    rows = knob.split(y, s.extent(y), 3, max_inner=28)
    columns = knob.split(x, s.extent(x), 3, max_inner=lanes * 8, multiple=lanes)
    depth = knob.split(k, s.extent(k), 2, max_inner=16)
    packs = [knob.flag(f"pack {name}") for name in packed]
    vectors = -(-columns[2] // lanes)
    knob.require(rows[2] * vectors + vectors + 1 <= target.registers)
    knob.require(rows[2] * vectors * depth[1] <= 400)
    outer = knob.choice("outer", ("x y", "y x"))
    for loop, factors in (y, rows), (x, columns), (k, depth):
        s = s.split(loop, factors)
    first = (f"{x}.0", f"{y}.0") if outer == "x y" else (f"{y}.0", f"{x}.0")
    second = (f"{x}.1", f"{y}.1") if outer == "x y" else (f"{y}.1", f"{x}.1")
    s = s.reorder(*first, *second, f"{k}.0", f"{k}.1", f"{y}.2", f"{x}.2")
    for loop in first:
        s = s.parallel(loop)
    s = s.unroll(f"{k}.1").unroll(f"{y}.2").vectorize(f"{x}.2")
    for name, wanted in zip(packed, packs, strict=True):
        s = s.pack(name) if wanted else s
    names = {b.name for b in s.loops.buffers}
    at = second[1]
    return s.fuse_at("out", at) if "out" in names else s.cache_write(stage, at)
