"""winograd: a convolution becomes short filters: transforms round a product over channels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import tilewright.expr.tensor as te
from tilewright.expr.affine import Affine
from tilewright.expr.parts import substitute as replaced
from tilewright.expr.scalar import Const, Load, Scalar, Select, Within
from tilewright.loops.nodes import Block, Buffer, Loop, Nest, Node
from tilewright.schedule import find
from tilewright.schedule.bilinear import affine, factors, in_place, indices, table, times, variable
from tilewright.schedule.toom_cook import Matrix, short_filter

# The error in float32 by how many products a filter takes, tile + taps - 1, as a share of the
# largest result: the greatest seen over benchmarks/winograd_error.py, times three. Rounding in a
# direct sum adds to it.
ERRORS = {3: 4e-6, 4: 4e-6, 5: 3e-5, 6: 4e-5, 7: 6e-5, 8: 9e-5}
# Of axes that the step makes.
NAMES = {"ty", "tx", "iy", "ix", "i", "j", "r", "s", "y", "x", "py", "px"}


def error(tile: int, taps: int) -> float:
    """Return what F(tile x tile, taps x taps) adds to rounding; infinite if that is not known."""
    return ERRORS.get(tile + taps - 1, math.inf)


@dataclass(frozen=True, slots=True)
class Winograd:
    """Compute the convolution `stage` in tiles of `tile` x `tile` outputs, by Winograd's method.

    The stage must sum data[.., y + ky, x + kx, .., c] * weights[ky, kx, c, ..] in float32, with
    constant weights, over ky, kx and c. A stride of s, as in s * y + ky, makes s filters of each,
    with every s-th tap; none may have more than `taps`, on which the error depends. If all have
    as many, they are further channels (py, px), which the products add up over. It becomes several: `stage.pad`, the data with zeros where tiles reach beyond it (if they do); `.half` and
    `.input`, its transform down and across; `.product`, a sum over channels for each of the points,
    (tile + taps - 1)^2 without a stride, which keeps the names of the loops; `.back` and `stage`, the
    transform of the result. Weights are transformed at compile time, in float64.

    >>> from tilewright import Schedule
    >>> from tilewright.ops.conv2d import Conv2d
    >>> s = Schedule(Conv2d(1, 4, 4, 16, 16, (3, 3)).expression()).winograd("conv", 2)
    >>> for line in str(s.loops).splitlines():
    ...     if "product" in line:
    ...         print(line.strip())
    workspace conv.product[4, 4, 1, 1, 1, 16]: float32
    conv.product[r, s, n, ty, tx, co] += (conv.input[r, s, n, ty, tx, ci] * conv.weights[r, s, ci, co])
    conv.back[conv.back:n, conv.back:ty, conv.back:tx, conv.back:iy, conv.back:s, conv.back:co] += (AT[conv.back:iy, conv.back:r] * conv.product[conv.back:r, conv.back:s, conv.back:n, conv.back:ty, conv.back:tx, conv.back:co])
    """  # noqa: E501

    stage: str
    tile: int
    taps: int = 3

    @property
    def error(self) -> float:
        """What the method adds to the error of a sum, as a share of the largest result."""
        return error(self.tile, self.taps)

    def apply(self, nest: Nest) -> Nest:
        asked = f"winograd {self.stage!r} in tiles of {self.tile} x {self.tile}"
        known = [m for m in range(2, max(ERRORS) + 1) if m + self.taps - 1 in ERRORS]
        if self.tile not in known or self.taps < 1:
            tiles = ", ".join(map(str, known)) or "none"
            find.refuse(nest, asked, f"a tile of {self.taps} taps is one of {tiles}, in both ways.")
        outer, block = find.stage(nest, self.stage, asked)
        if nest.by_name[block.buffer].dtype != "float32":
            find.refuse(nest, asked, "its error is known for float32 only.")
        if not outer:
            find.refuse(nest, asked, "it has no loops.")
        find.alone(nest, outer[0], asked)
        conv = _Convolution.of(nest, outer, block, asked)
        taps = [conv.loops[tap].extent for _, tap in conv.space]
        shape = nest.by_name[conv.weights.buffer].shape
        longest = max(-(-n // s) for n, s in zip(taps, conv.strides, strict=True))
        if [shape[place] for place in conv.places] != taps or longest > self.taps:
            find.refuse(
                nest, asked, f"it takes filters of up to {self.taps} taps, all of them in a tensor."
            )
        others = {*nest.loops} - {*conv.loops}
        taken = ({*conv.rest, *conv.depth, *conv.channels} | others) & NAMES
        if taken:
            find.refuse(nest, asked, f"it makes a loop {min(taken)!r} itself; rename that axis.")
        return in_place(nest, outer[0], *conv.stages(self.tile))


@dataclass(frozen=True)
class _Convolution:
    """A convolution found in a nest: the loops by what they do."""

    nest: Nest
    block: Block
    data: Scalar
    weights: Load
    loops: dict[str, Loop]
    space: tuple[tuple[str, str], tuple[str, str]]  # (y, ky), (x, kx)
    strides: tuple[int, int]
    places: tuple[int, int]  # which dimensions of the weights ky and kx are
    depth: tuple[str, ...]  # other reduce loops
    rest: tuple[str, ...]  # other loops, that the data is indexed by
    channels: tuple[str, ...]  # those that only the weights are indexed by

    @staticmethod
    def of(nest: Nest, outer: tuple[Loop, ...], block: Block, asked: str) -> _Convolution:
        """Take a block apart, or refuse, saying what is amiss."""
        loops = {loop.name: loop for loop in outer}
        data, weights = factors(nest, outer, block, asked)
        if all(len(i.variables) < 2 for i in indices(data)):
            find.refuse(
                nest, asked, "it is no convolution: no index of its data moves with a filter, as "
                "that of data[y + ky, x + kx, c] * weights[ky, kx, c, o] does.",
            )  # fmt: skip
        if not isinstance(weights, Load) or nest.by_name[weights.buffer].scope != "constant":
            find.refuse(nest, asked, "the second factor must be a load of constant weights.")
        if nest.by_name[weights.buffer].source:
            find.refuse(nest, asked, "its weights are packed already; pack those that it makes.")
        if weights.gathered:
            find.refuse(nest, asked, "its weights are read at an index that is data.")
        found = [variable(i) for i in weights.index]
        strides: dict[tuple[str, str], int] = {}
        for i in indices(data):
            taps = [n for n in i.variables if loops[n].reduce and found.count(n) == 1]
            moved = [n for n in i.variables if not loops[n].reduce]
            if len(i.variables) == 2 and len(taps) == len(moved) == 1:
                steps = int(i.coefficient(moved[0]))
                if i.coefficient(taps[0]) == 1 and steps > 0:
                    strides.setdefault((moved[0], taps[0]), steps)
        pairs = list(strides)
        if len(pairs) != 2:
            find.refuse(nest, asked, "the data must be indexed by y + ky and x + kx: no dilation.")
        for i in indices(data):
            for pair in pairs:
                together = sorted(pair) == list(i.variables)
                steps = (i.coefficient(pair[0]), i.coefficient(pair[1]))
                if set(i.variables) & set(pair) and not (together and steps == (strides[pair], 1)):
                    find.refuse(
                        nest, asked, f"{pair[0]!r} and {pair[1]!r} are used other than as a sum."
                    )
        spatial = {n for pair in pairs for n in pair}
        used = {n for i in indices(data) for n in i.variables}
        if any(set(i.variables) & {y for y, _ in pairs} for i in weights.index):
            find.refuse(nest, asked, "the weights depend on where the filter is.")
        if any(variable(i) not in loops for i in block.index):
            find.refuse(nest, asked, "its result is not indexed by its loops alone.")
        return _Convolution(
            nest, block, data, weights, loops, (pairs[0], pairs[1]),
            (strides[pairs[0]], strides[pairs[1]]),
            (found.index(pairs[0][1]), found.index(pairs[1][1])),
            tuple(n for n, o in loops.items() if o.reduce and n not in spatial),
            tuple(n for n, o in loops.items() if not o.reduce and n in used - spatial),
            tuple(n for n, o in loops.items() if not o.reduce and n not in used | spatial),
        )  # fmt: skip

    def stages(self, m: int) -> tuple[list[Buffer], list[Node]]:
        """Return the new buffers, and the loops of the stages."""
        name, dtype = self.block.stage, self.nest.by_name[self.block.buffer].dtype
        (y, ky), (x, kx) = self.space
        (sy, sx), ry, rx = self.strides, self.loops[ky].extent, self.loops[kx].extent
        alike = max(sy, sx) > 1 and ry % sy == rx % sx == 0
        py, px = (sy, sx) if alike else (1, 1)
        down, across = short_filter(m, ry // py, sy // py), short_filter(m, rx // px, sx // px)
        high, wide = self.loops[y].extent, self.loops[x].extent
        e = {n: o.extent for n, o in self.loops.items()}
        e |= {"ty": -(-high // m), "tx": -(-wide // m), "iy": m, "ix": m}
        e |= {"r": len(down.input), "i": len(down.input[0])}
        e |= {"s": len(across.input), "j": len(across.input[0])}
        phases = ("py", "px") if alike else ()
        e |= dict(zip(phases, (py, px), strict=False))
        rest, depth, channels = self.rest, (*phases, *self.depth), self.channels
        buffers: list[Buffer] = []
        nodes: list[Node] = []

        def stage(label: str, axes: Iterable[str], value: Scalar, over: Iterable[str] = ()) -> None:
            axes, over, plain = tuple(axes), tuple(over), label == "product"
            full = f"{name}.{label}"
            names = {n: n if plain else f"{full}:{n}" for n in (*axes, *over)}
            vars_ = {n: Affine(0, ((new, 1),)) for n, new in names.items()}
            buffers.append(Buffer(full, tuple(e[n] for n in axes), dtype, "workspace"))
            kind = "sum" if over else None
            node: Node = Block(
                full, full, tuple(vars_[n] for n in axes), replaced(value, vars_), kind,
                init=bool(over),
            )  # fmt: skip
            for n in reversed((*axes, *over)):
                node = Loop(names[n], e[n], "serial", n in over, (node,))
            nodes.append(node)

        def load(label: str, *axes: str) -> Load:
            return Load(f"{name}.{label}", tuple(affine(n) for n in axes), dtype)

        tiles = (*rest, "ty", "tx")
        e |= {"y": (e["ty"] * m - 1) * sy + ry, "x": (e["tx"] * m - 1) * sx + rx}
        i, j = Affine(e["i"] - 1) - affine("i"), affine("j")
        down_at, across_at = affine("ty") * (m * sy) + i * py, affine("tx") * (m * sx) + j * px
        if alike:
            down_at, across_at = down_at + affine("py"), across_at + affine("px")
        limits = self._limits(e)
        if limits or not isinstance(self.data, Load):
            value = self._data(affine("y"), affine("x"))
            for limit in limits:
                value = Select(limit, value, Const(0.0, dtype), dtype)
            stage("pad", (*rest, "y", "x", *self.depth), value)
            at = {"y": down_at, "x": across_at}
            data = load("pad", *rest, "y", "x", *self.depth)
            data = replace(data, index=tuple(n.substitute(at) for n in data.index))
        else:
            data = self._data(down_at, across_at)
        stage("half", (*tiles, "r", "j", *depth), times(
            table("BT", _flip(down.input), (affine("r"), affine("i")), dtype), data,
        ), ("i",))  # fmt: skip
        last_j = e["j"] - 1
        stage("input", ("r", "s", *tiles, *depth), times(
            table("BT", _flip(across.input), (affine("s"), affine("j")), dtype),
            Load(f"{name}.half", tuple(last_j - affine(n) if n == "j" else affine(n)
                                       for n in (*tiles, "r", "j", *depth)), dtype),
        ), ("j",))  # fmt: skip
        buffers.append(self._weights(name, dtype, down.weight, across.weight, e))
        taps = {self.places[0]: "r", self.places[1]: "s"}
        stage("product", ("r", "s", *tiles, *channels), times(
            load("input", "r", "s", *tiles, *depth),
            Load(f"{name}.weights", (*(affine(taps[d]) if d in taps else i
                                       for d, i in enumerate(self.weights.index)),
                                     *map(affine, phases)), dtype),
        ), depth)  # fmt: skip
        stage("back", (*tiles, "iy", "s", *channels), times(
            table("AT", down.output, (affine("iy"), affine("r")), dtype),
            load("product", "r", "s", *tiles, *channels),
        ), ("r",))  # fmt: skip
        nodes.append(self._result(m, e, across.output, dtype))
        return buffers, nodes

    def _data(self, down: Affine, across: Affine) -> Scalar:
        """Return the data at a row and a column, as the filter's first tap reads it."""
        (y, ky), (x, kx) = self.space
        return replaced(self.data, {y: Affine(), ky: down, x: Affine(), kx: across})

    def _limits(self, e: dict[str, Any]) -> list[Scalar]:
        """Return the conditions under which the padded data has a value: some output needs it."""
        limits: list[Scalar] = []
        for (loop, tap), stride, axis in zip(self.space, self.strides, ("y", "x"), strict=True):
            needed = (self.loops[loop].extent - 1) * stride + self.loops[tap].extent
            if e[axis] > needed:
                limits.append(Within(affine(axis), -(1 << 60), needed))
        return limits

    def _weights(
        self, name: str, dtype: str, down: Matrix, across: Matrix, e: dict[str, Any]
    ) -> Buffer:
        """Return the transformed weights: a constant that is computed from the given ones."""
        source = self.nest.by_name[self.weights.buffer]
        given = te.tensor(source.name, source.shape, source.dtype, constant=True)
        p, q = self.places
        shape, rank = list(source.shape), len(source.shape)
        shape[p], shape[q] = e["r"], e["s"]
        steps = (e["py"], e["px"]) if "py" in e else ()
        over = te.reduce_axis("k", len(down[0])), te.reduce_axis("l", len(across[0]))
        first, second = te.table("G", _floats(down)), te.table("H", _floats(across))

        def value(*axes: te.Axis) -> Scalar:
            at: list[Any] = list(axes[:rank])
            at[p], at[q] = over
            for place, tap, step, phase in zip((p, q), over, steps, axes[rank:], strict=False):
                at[place] = tap * step + phase
            return te.sum(
                first[axes[p], over[0]] * second[axes[q], over[1]] * given[tuple(at)], over=over
            )

        made = te.compute(f"{name}.weights", (*shape, *steps), value)
        return Buffer(made.name, made.shape, dtype, "constant", source.name, made=made)

    def _result(self, m: int, e: dict[str, Any], output: Matrix, dtype: str) -> Node:
        """Return the loops that write the result, as the stage's own are split by tiles."""
        (y, _), (x, _) = self.space
        name = self.block.stage
        order = (*self.rest, "ty", "iy", "tx", "ix", *self.channels, "s")
        names = {n: f"{name}:{n}" for n in order}
        v = {n: Affine(0, ((new, 1),)) for n, new in names.items()}
        at = {n: v[n] for n in (*self.rest, *self.channels)}
        at |= {y: v["ty"] * m + v["iy"], x: v["tx"] * m + v["ix"]}
        index = tuple(i.substitute(at) for i in self.block.index)
        guards = tuple(
            Within(at[n], -(1 << 60), self.loops[n].extent)
            for n in (y, x)
            if self.loops[n].extent % m
        )
        value = times(
            table("AT", output, (v["ix"], v["s"]), dtype),
            Load(
                f"{name}.back",
                tuple(v[n] for n in (*self.rest, "ty", "tx", "iy", "s", *self.channels)),
                dtype,
            ),
        )
        node: Node = Block(name, self.block.buffer, index, value, "sum", init=True, guards=guards)
        for n in reversed(order):
            node = Loop(names[n], e[n], "serial", n == "s", (node,))
        return node


def _flip(matrix: Matrix) -> Matrix:
    """Return the columns in reverse: rows of B^T end with a one, from which a sum then starts."""
    return tuple(tuple(reversed(row)) for row in matrix)


def _floats(matrix: Matrix) -> list[list[float]]:
    return [[float(x) for x in row] for row in matrix]
