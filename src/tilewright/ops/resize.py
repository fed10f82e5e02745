"""Resizing by the nearest element, linear or cubic interpolation, one dimension after another.

Which elements are read follows no affine index. So the result is computed in blocks of a few
elements, for each of which the source moves on by about as many: `y = q * block + r` reads a window
at `q * step + first`, and a table says which elements of it, or how much of each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.affine import Affine
from tilewright.expr.scalar import Scalar, equal
from tilewright.ops import fields, mixed
from tilewright.ops.taps import COORDINATES, MODES, ROUNDINGS, Row, Taps

MAX_BLOCK = 64


@dataclass(frozen=True)
class Resize:
    """X at another size, as ONNX's Resize: `size` has an extent for each dimension of `shape`.

    `coordinates` says where elements of the result lie in X, and `rounding` which is the nearest.
    Short floats are interpolated in float32, and rounded once at the end. `scales` are those that
    were asked for, where they are not the ratios of the extents; `regions` has the start and the
    end of what is seen of each dimension, in shares, for tf_crop_and_resize. `cubic`,
    `exclude_outside` and `antialias` mean what they do in ONNX.
    """

    shape: tuple[int, ...]
    size: tuple[int, ...]
    mode: str = "nearest"
    coordinates: str = "half_pixel"
    rounding: str = "round_prefer_floor"
    dtype: str = "float32"
    scales: tuple[float, ...] = ()
    regions: tuple[tuple[float, float], ...] = ()
    cubic: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False

    def __post_init__(self) -> None:
        fields.check(self)
        if len(self.shape) != len(self.size) or not self.shape:
            raise ExpressionError(
                f"resize of {self.shape} to {self.size}: give an extent of at least 1 for each "
                "dimension, that of X where it stays."
            )
        for what, value, of in (
            ("mode", self.mode, MODES), ("coordinates", self.coordinates, COORDINATES),
            ("rounding", self.rounding, ROUNDINGS),
        ):  # fmt: skip
            if value not in of:
                raise ExpressionError(
                    f"resize with {what} {value!r}: it is one of {', '.join(of)}."
                )
        if self.mode != "nearest" and not dtypes.is_float(self.dtype):
            raise ExpressionError(
                f"{self.mode} resize of {self.dtype}: it takes floats; cast X first."
            )
        for what, given in ("scales", self.scales), ("regions", self.regions):
            if given and len(given) != len(self.shape):
                raise ExpressionError(
                    f"resize of {self.shape} with {what} {given}: give one for each dimension, or "
                    "none at all."
                )

    @property
    def name(self) -> str:
        shape, size = ("x".join(map(str, e)) for e in (self.shape, self.size))
        more = (" antialias" if self.antialias else "") + (" inside" * self.exclude_outside)
        how = f"{self.mode} {self.coordinates}{more}"
        return f"resize {shape} to {size}, {how}{fields.of(self.dtype)}"

    def expression(self) -> te.Tensor:
        """Return a stage for each dimension that changes, and one for all that repeat elements."""
        made = te.tensor("X", self.shape, self.dtype)
        plans = {d: self._plan(d) for d in range(len(self.shape)) if not self._stays(d)}
        simple = [d for d, plan in plans.items() if plan.window == 1]
        groups = [[d] for d in plans if d not in simple] + ([simple] if simple else [])
        for place, group in enumerate(groups or [[]]):
            name = "out" if place >= len(groups) - 1 else f"resized{place}"
            made = self._resized(name, made, {d: plans[d] for d in group})
        return made

    def _resized(self, name: str, source: te.Tensor, plans: dict[int, Plan]) -> te.Tensor:
        axes: list[te.Axis] = []
        at: list[Affine] = []
        read: list[Affine] = []
        shape = list(source.shape)
        for d, extent in enumerate(source.shape):
            plan = plans.get(d)
            q = te.Axis(f"{name}{d}", plan.blocks if plan else extent)
            r = te.Axis(f"{name}{d}r", plan.block if plan else 1)
            split = plan is not None and plan.block > 1
            axes += (q, r) if split else (q,)
            at.append(q * plan.block + r if plan and split else q.affine)
            read.append(q * plan.step + plan.first if plan else q.affine)
            shape[d] = self.size[d] if plan else extent
        value: Scalar = source[tuple(read)]
        if any(p.window > 1 for p in plans.values()):
            ((d, plan),) = plans.items()
            value = self._tapped(source, tuple(read), d, plan, at[d])
        value = mixed.stored(value, self.dtype) if name == "out" else value
        return te.stage(name, axes, value, shape, at)

    def _tapped(
        self, source: te.Tensor, read: tuple[Affine, ...], d: int, plan: Plan, at: Affine
    ) -> Scalar:
        """Return the element that a table of places names, or a sum that a table weighs."""
        loads: list[Scalar] = []
        n = source.shape[d]
        for k in range(plan.window):
            i = read[d] + k
            load: Scalar = source[(*read[:d], i, *read[d + 1 :])]
            load = mixed.wide(load) if self.mode != "nearest" else load
            low, high = plan.first + k, (plan.blocks - 1) * plan.step + plan.first + k
            if high >= n:
                load = te.select(i < n, load, 0)
            if low < 0:
                load = te.select(i >= 0, load, 0)
            loads.append(load)
        if self.mode == "nearest":
            place = te.table("place", plan.places(), "int32")
            value = loads[0]
            for k, load in enumerate(loads[1:], 1):
                value = te.select(equal(place[at], k), load, value)
            return value
        share = te.table("share", plan.shares(), mixed.sums(self.dtype))
        total: Scalar | None = None
        for k, load in enumerate(loads):
            part = load * share[at, k]
            total = part if total is None else total + part
        assert total is not None
        return total

    def row(self, d: int) -> Row:
        """Return how dimension d is resized."""
        return Row(
            self.shape[d], self.size[d], self.mode, self.coordinates, self.rounding,
            self.scales[d] if self.scales else 0.0, self.cubic, self.exclude_outside,
            self.antialias, self.regions[d] if self.regions else (0.0, 1.0),
        )  # fmt: skip

    def _stays(self, d: int) -> bool:
        """Whether dimension d is left as it is."""
        whole = not self.regions or self.regions[d] == (0.0, 1.0)
        return self.shape[d] == self.size[d] and self.row(d).factor == 1 and whole

    def _plan(self, d: int) -> Plan:
        return _planned(self.row(d).taps())


@dataclass(frozen=True)
class Plan:
    """One dimension in blocks: block q reads `window` elements from `q * step + first` on."""

    taps: tuple[Taps, ...]
    block: int
    step: int
    first: int
    window: int

    @property
    def blocks(self) -> int:
        return -(-len(self.taps) // self.block)

    def places(self) -> list[int]:
        """Return where in its window each element of the result is found."""
        return [taps[0][0] - self._start(y) for y, taps in enumerate(self.taps)]

    def shares(self) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """Return how much of each element of its window an element of the result is."""
        out = np.zeros((len(self.taps), self.window))
        for y, taps in enumerate(self.taps):
            for i, share in taps:
                out[y, i - self._start(y)] = float(share)
        return out

    def _start(self, y: int) -> int:
        return y // self.block * self.step + self.first


@lru_cache(maxsize=256)
def _planned(taps: tuple[Taps, ...]) -> Plan:
    """Return the blocks whose windows are smallest, then shortest."""
    lows = np.array([min(i for i, _ in each) for each in taps])
    highs = np.array([max(i for i, _ in each) for each in taps])
    at = np.arange(len(taps))
    plans: list[Plan] = []
    for block in range(1, min(len(taps), MAX_BLOCK) + 1):
        rate = (highs[-1] - lows[0]) / max(1, len(taps) - 1) * block
        for step in {math.floor(rate), math.ceil(rate), round(rate)}:
            start = at // block * step
            first = int((lows - start).min())
            plans.append(Plan(taps, block, step, first, int((highs - start).max()) - first + 1))
    return min(plans, key=lambda plan: (plan.window, plan.block))
