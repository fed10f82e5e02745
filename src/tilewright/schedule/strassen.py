"""strassen: a product of matrices in seven products of halves, instead of eight."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any

import tilewright.expr.tensor as te
from tilewright.expr.parts import substitute as replaced
from tilewright.expr.scalar import Const, Load, Scalar, Select, Within
from tilewright.loops.nodes import Block, Buffer, Loop, Nest, Node
from tilewright.schedule import find
from tilewright.schedule.bilinear import affine, factors, in_place, indices, table, times, variable
from tilewright.schedule.toom_cook import Matrix

# The error in float32 by how often it is applied, as a share of the largest result: the greatest
# seen over benchmarks/strassen_error.py, times three. Rounding in a direct sum adds to it.
ERRORS = {1: 1.1e-5, 2: 1.8e-5}
PRODUCTS = 7


def _matrix(rows: str) -> Matrix:
    return tuple(tuple(Fraction(int(n)) for n in row.split()) for row in rows.split(","))


# Product p is the sum of the data's parts by LEFT[p] times that of the weights' by RIGHT[p], and
# part q of the result is the sum of products by RESULT[q]; parts are counted row by row.
LEFT = _matrix("1 0 0 1, 0 0 1 1, 1 0 0 0, 0 0 0 1, 1 1 0 0, -1 0 1 0, 0 1 0 -1")
RIGHT = _matrix("1 0 0 1, 1 0 0 0, 0 1 0 -1, -1 0 1 0, 0 0 0 1, 1 1 0 0, 0 0 1 1")
RESULT = _matrix("1 0 0 1 -1 0 1, 0 0 1 0 1 0 0, 0 1 0 1 0 0 0, 1 -1 1 0 0 1 0")
NAMES = {"p", "qy", "qx", "qk"}  # of axes that the step makes


@lru_cache
def algorithm(levels: int) -> tuple[Matrix, Matrix, Matrix]:
    """Return (LEFT, RIGHT, RESULT) of Strassen's algorithm applied to its own products.

    >>> [(len(m), len(m[0])) for m in algorithm(2)]
    [(49, 16), (49, 16), (16, 49)]
    """
    if levels == 1:
        return LEFT, RIGHT, RESULT
    left, right, result = algorithm(levels - 1)
    turned = _nested(_turned(RESULT), _turned(result))
    return _nested(LEFT, left), _nested(RIGHT, right), _turned(turned)


def _turned(matrix: Matrix) -> Matrix:
    return tuple(zip(*matrix, strict=True))


def _nested(outer: Matrix, inner: Matrix) -> Matrix:
    """Return the sums, over parts of quarters, that two kinds of sums come to behind each other."""
    side = isqrt(len(inner[0]))
    where = [(q // 2, i // side, q % 2, i % side) for q in range(4) for i in range(side * side)]
    order = sorted(range(4 * side * side), key=where.__getitem__)
    rows = (tuple(a * b for a in o for b in i) for o in outer for i in inner)
    return tuple(tuple(row[n] for n in order) for row in rows)


@dataclass(frozen=True, slots=True)
class Strassen:
    """Compute the product `stage` by Strassen's algorithm: in halves of rows, columns and depth.

    The stage must sum data[.., y, k] * weights[k, x] over k in float32, with constant weights. It
    becomes three: `stage.input`, for each of seven products what it takes of the quarters of the
    data; `.product`, the seven, which keep the names of the loops; and `stage`, the quarters of the
    result. Weights are added up at compile time, in float64. Columns and depth are halved in the
    middle, rows into the even and the odd ones, so that a block of rows of all quarters is one of
    the whole; where an extent is odd, the second half is shorter. With two `levels`, each of the
    products is computed so, too: 49 of sixteenths.

    >>> from tilewright import Schedule
    >>> from tilewright.ops.dense import Dense
    >>> s = Schedule(Dense(6, 8, 4).expression()).strassen("product")
    >>> for line in str(s.loops).splitlines():
    ...     if "product[" in line and "=" in line:
    ...         print(line.strip())
    product.product[p, y, x_] += (product.input[p, y, k] * product.weights[p, k, x_])
    product[product:qy + product:y*2, product:qx*2 + product:x_] += (C[product:qy, product:qx, product:p] * product.product[product:p, product:y, product:x_])
    """  # noqa: E501

    stage: str
    levels: int = 1

    @property
    def error(self) -> float:
        """What the algorithm adds to the error of a sum, as a share of the largest result."""
        return ERRORS[self.levels]

    def apply(self, nest: Nest) -> Nest:
        asked = f"strassen {self.stage!r}"
        if self.levels not in ERRORS:
            find.refuse(nest, asked, f"levels={self.levels!r}: its error is known for 1 and 2.")
        outer, block = find.stage(nest, self.stage, asked)
        if nest.by_name[block.buffer].dtype != "float32":
            find.refuse(nest, asked, "its error is known for float32 only.")
        if not outer:
            find.refuse(nest, asked, "it has no loops.")
        find.alone(nest, outer[0], asked)
        product = _Product.of(nest, outer, block, self.levels, asked)
        taken = {*nest.loops} & NAMES
        if taken:
            find.refuse(nest, asked, f"it makes a loop {min(taken)!r} itself; rename that axis.")
        return in_place(nest, outer[0], *product.stages())


@dataclass(frozen=True)
class _Product:
    """A product found in a nest: the loops by what they do."""

    nest: Nest
    levels: int
    block: Block
    data: Scalar
    weights: Load
    loops: dict[str, Loop]
    row: str
    column: str
    depth: str
    rest: tuple[str, ...]  # other loops, that the data is indexed by

    @staticmethod
    def of(nest: Nest, outer: tuple[Loop, ...], block: Block, levels: int, asked: str) -> _Product:
        """Take a block apart, or refuse, saying what is amiss."""
        loops = {loop.name: loop for loop in outer}
        data, weights = factors(nest, outer, block, asked)
        if not isinstance(weights, Load) or nest.by_name[weights.buffer].scope != "constant":
            find.refuse(nest, asked, "the second factor must be a load of constant weights.")
        if nest.by_name[weights.buffer].source or weights.gathered:
            find.refuse(nest, asked, "its weights are packed or gathered already.")
        read = [variable(i) for i in weights.index]
        reduced = [n for n, o in loops.items() if o.reduce]
        columns = [n for n in read if n in loops and not loops[n].reduce]
        if len(reduced) != 1 or len(read) != 2 or len(columns) != 1 or reduced[0] not in read:
            find.refuse(nest, asked, "weights[k, x] must be read by one sum's loop and a column's.")
        used = {n for i in indices(data) for n in i.variables}
        rows = [n for n, o in loops.items() if not o.reduce and n not in columns]
        if columns[0] in used or not rows or not {*rows, *reduced} >= used:
            find.refuse(nest, asked, "its data must be read by rows and the depth alone.")
        if any(variable(i) not in loops for i in block.index):
            find.refuse(nest, asked, "its result is not indexed by its loops alone.")
        return _Product(
            nest, levels, block, data, weights, loops, rows[-1], columns[0], reduced[0],
            tuple(rows[:-1]),
        )  # fmt: skip

    @property
    def parts(self) -> int:
        """How many parts an axis is in."""
        return 2**self.levels

    @property
    def products(self) -> int:
        """How many products of parts there are."""
        return PRODUCTS**self.levels

    def _uneven(self, axis: str) -> bool:
        """Whether the last part of an axis is shorter."""
        return self.loops[axis].extent % self.parts != 0

    def stages(self) -> tuple[list[Buffer], list[Node]]:
        """Return the new buffers, and the loops of the stages."""
        name, dtype = self.block.stage, self.nest.by_name[self.block.buffer].dtype
        y, x, k, rest = self.row, self.column, self.depth, self.rest
        e = {n: o.extent for n, o in self.loops.items()}
        left, right, result = algorithm(self.levels)
        part = {n: -(-e[n] // self.parts) for n in (y, x, k)}
        e |= {**part, "p": self.products, **dict.fromkeys(("qy", "qx", "qk"), self.parts)}
        buffers: list[Buffer] = []
        nodes: list[Node] = []

        def stage(label: str, axes: Iterable[str], value: Scalar, over: Iterable[str]) -> None:
            axes, over, full = tuple(axes), tuple(over), f"{name}.{label}"
            names = {n: n if label == "product" else f"{full}:{n}" for n in (*axes, *over)}
            at = {n: affine(new) for n, new in names.items()}
            buffers.append(Buffer(full, tuple(e[n] for n in axes), dtype, "workspace"))
            index = tuple(at[n] for n in axes)
            node: Node = Block(full, full, index, replaced(value, at), "sum", init=True)
            for n in reversed((*axes, *over)):
                node = Loop(names[n], e[n], "serial", n in over, (node,))
            nodes.append(node)

        of_data = {
            y: affine(y) * self.parts + affine("qy"),
            k: affine("qk") * part[k] + affine(k),
        }
        data = replaced(self.data, of_data)
        for n, index in of_data.items():
            if self._uneven(n):
                inside = Within(index, -(1 << 60), self.loops[n].extent)
                data = Select(inside, data, Const(0.0, dtype), dtype)
        of = table("A", left, (affine("p"), affine("qy"), affine("qk")), dtype)
        of = replace(of, shape=(self.products, self.parts, self.parts))
        stage("input", ("p", *rest, y, k), times(of, data), ("qy", "qk"))
        buffers.append(self._weights(name, dtype, part, right))
        weights = tuple(affine(variable(i)) for i in self.weights.index)
        stage(
            "product",
            ("p", *rest, y, x),
            times(
                Load(f"{name}.input", tuple(map(affine, ("p", *rest, y, k))), dtype),
                Load(f"{name}.weights", (affine("p"), *weights), dtype),
            ),
            (k,),
        )
        nodes.append(self._result(e, part, result, dtype))
        return buffers, nodes

    def _weights(self, name: str, dtype: str, part: dict[str, Any], right: Matrix) -> Buffer:
        """Return the sums of weights: a constant that is computed from the given ones."""
        source = self.nest.by_name[self.weights.buffer]
        given = te.tensor(source.name, source.shape, source.dtype, constant=True)
        order = [variable(i) for i in self.weights.index]
        parts = self.parts
        shape = (self.products, *(part[n] for n in order))
        qk, qx = te.reduce_axis("qk", parts), te.reduce_axis("qx", parts)
        of = te.table("B", [[[float(x) for x in row[i : i + parts]]
                             for i in range(0, len(row), parts)] for row in right])  # fmt: skip
        which = {self.depth: qk, self.column: qx}

        def value(p: te.Axis, a: te.Axis, b: te.Axis) -> Scalar:
            at = [which[n] * part[n] + axis for n, axis in zip(order, (a, b), strict=True)]
            held: Scalar = given[tuple(at)]
            for n, index, extent in zip(order, at, source.shape, strict=True):
                if extent < parts * part[n]:
                    held = te.select(index < extent, held, 0.0)
            return te.sum(of[p, qk, qx] * held, over=(qk, qx))

        made = te.compute(f"{name}.weights", shape, value)
        return Buffer(made.name, shape, dtype, "constant", source.name, made=made)

    def _result(self, e: dict[str, Any], part: dict[str, Any], result: Matrix, dtype: str) -> Node:
        """Return the loops that add the products up, a part of the result each."""
        name, y, x, rest = self.block.stage, self.row, self.column, self.rest
        order = (*rest, "qy", y, "qx", x, "p")
        names = {n: f"{name}:{n}" for n in order}
        v = {n: affine(new) for n, new in names.items()}
        at = {n: v[n] for n in rest}
        at |= {y: v[y] * self.parts + v["qy"], x: v["qx"] * part[x] + v[x]}
        guards = tuple(
            Within(at[n], -(1 << 60), self.loops[n].extent) for n in (y, x) if self._uneven(n)
        )
        of = table("C", result, (v["qy"], v["qx"], v["p"]), dtype)
        value = times(
            replace(of, shape=(self.parts, self.parts, self.products)),
            Load(f"{name}.product", tuple(v[n] for n in ("p", *rest, y, x)), dtype),
        )
        index = tuple(i.substitute(at) for i in self.block.index)
        node: Node = Block(name, self.block.buffer, index, value, "sum", init=True, guards=guards)
        for n in reversed(order):
            node = Loop(names[n], e[n], "serial", n == "p", (node,))
        return node
