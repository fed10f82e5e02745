"""Nests that once were compiled, or interpreted, to something else than their expression."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.differential import check_compiled, check_interpreted
from tests.schedule.programs import matmul, padded_convolution, pointwise

import tilewright as tw
from tilewright import Schedule


def _gram() -> Schedule:
    a, k = tw.tensor("A", (6, 5)), tw.reduce_axis("k", 5)
    twice = tw.compute("twice", (6, 5), lambda i, j: a[i, j] * 2.0)
    gram = tw.compute("G", (6, 6), lambda y, x: tw.sum(twice[y, k] * twice[x, k], over=k))
    return Schedule(gram).split("y", (3, 2))


def _negated() -> Schedule:
    a = tw.tensor("A", (13,), "int32")
    return Schedule(tw.compute("B", (13,), lambda x: -a[x]))


def _shifted(size: int = 21) -> Schedule:
    a = tw.tensor("A", (size,))
    value = lambda x: tw.select((x >= 3) & (a[x - 3] < 1.0), a[x - 3], a[x])  # noqa: E731
    return Schedule(tw.compute("B", (size,), value))


def _padding(size: int = 21) -> Schedule:
    a = tw.tensor("A", (size,))
    value = lambda x: tw.select((x >= 2) & (x < size + 2), a[x - 2], 1.0)  # noqa: E731
    return Schedule(tw.compute("B", (size + 5,), value))


def _masked() -> Schedule:
    a = tw.tensor("A", (5, 21))
    mask = tw.compute("mask", (5, 21), lambda y, x: a[y, x] < 0.0)
    return Schedule(tw.compute("B", (5, 21), lambda y, x: tw.select(mask[y, x], 0.0, a[y, x])))


def _border() -> Schedule:
    a = tw.tensor("A", (17, 5))
    value = lambda y, x: tw.select((y >= 0) & (y < 16), a[y, x], 1.0)  # noqa: E731
    return Schedule(tw.compute("B", (17, 5), value))


def _scalar(kind: Callable[..., tw.Tensor]) -> Schedule:
    a, y, x = tw.tensor("A", (3, 7)), tw.reduce_axis("y", 3), tw.reduce_axis("x", 7)
    return Schedule(tw.compute("B", (), lambda: kind(a[y, x], over=(y, x))))


def _rows(kind: Callable[..., tw.Tensor], dtype: str = "float32") -> Schedule:
    a, k = tw.tensor("A", (21, 3), dtype), tw.reduce_axis("k", 3)
    return Schedule(tw.compute("B", (21,), lambda y: kind(a[y, k] + 1, over=k)))


def _functions() -> Schedule:
    a = tw.tensor("A", (19,))
    inner = tw.compute("I", (19,), lambda x: tw.sigmoid(tw.tanh(a[x])) - tw.floor(a[x]))
    root = tw.compute("R", (19,), lambda x: tw.sqrt(tw.log(inner[x] + 1.5)))
    return Schedule(tw.compute("B", (19,), lambda x: tw.exp(tw.erf(root[x])) + abs(a[x])))


def _tile(s: Schedule) -> Schedule:
    return s.reorder("k", "y", "x").split("y", (1, 16)).reorder("y.0", "k", "y.1", "x")


CASES: dict[str, Callable[[], Schedule]] = {
    "a scalar sum": lambda: _scalar(tw.sum),
    "a scalar maximum, its loops fused and cut": lambda: (
        _scalar(tw.max).fuse("y", "x").split("y+x", (6, 4))
    ),
    "a scalar minimum": lambda: _scalar(tw.min),
    "products": lambda: _rows(tw.prod),
    "products in a vector": lambda: _rows(tw.prod).reorder("k", "y").vectorize("y"),
    "products of integers in a tile": lambda: (
        _rows(tw.prod, "int32").split("y", (6, 4)).vectorize("y.1").cache_write("B", "y.0")
    ),
    "minima in a vector": lambda: _rows(tw.min).reorder("k", "y").vectorize("y"),
    "a tile in a loop that runs once": lambda: _tile(Schedule(matmul())).cache_write("C", "y.0"),
    "a register tile in a loop that runs once": lambda: (
        _tile(Schedule(matmul())).vectorize("x").unroll("y.1").cache_write("C", "y.0")
    ),
    "a tile over fused loops": lambda: (
        Schedule(padded_convolution()).fuse("x", "c").cache_write("conv", "x+c")
    ),
    "a tile inside of which loops are fused": lambda: (
        Schedule(matmul(6)).split("y", (2, 3)).fuse("y.1", "x").cache_write("C", "y.0")
    ),
    "a guard on a fused loop": lambda: (
        Schedule(matmul(10)).split("x", (3, 4)).fuse("y", "x.0").cache_write("C", "y+x.0")
    ),
    "fused reduce loops with a guard": lambda: (
        Schedule(matmul(10)).split("k", (3, 4)).fuse("k.0", "k.1")
    ),
    "a region read at two varying places": lambda: _gram().compute_at("twice", "y.0"),
    "a cache read at two varying places": lambda: _gram().inline("twice").cache_read("A", "y.0"),
    "padding in a vector": lambda: _padding().vectorize("x"),
    "padding in a vector with a serial loop inside": lambda: (
        _padding().split("x", (4, 7)).vectorize("x.0")
    ),
    "padding cached where it is read": lambda: _padding().parallel("x").cache_read("A", "x"),
    "a condition on indices and data": _shifted,
    "a condition on indices and data in a vector": lambda: _shifted().vectorize("x"),
    "a mask of one byte an element": lambda: _masked().vectorize("x").vectorize("B:x"),
    "a tile read in vectors of another element": lambda: (
        _masked().cache_read("A", "y").vectorize("A.local:1").vectorize("x")
    ),
    "lanes of a tile that change from piece to piece": lambda: (
        _border()
        .split("y", (2, 3, 3))
        .reorder("y.0", "x", "y.1", "y.2")
        .vectorize("y.2")
        .cache_write("B", "y.1")
    ),
    "negated integers in a vector": lambda: _negated().vectorize("x"),
    "functions in a vector": lambda: _functions().vectorize("x").vectorize("R:x").vectorize("B:x"),
    "a packed stage": lambda: Schedule(padded_convolution()).split("x", (3, 4)).pack("pad"),
    "an output smaller than its vector": lambda: Schedule(pointwise(3)).pad("x", 8).vectorize("x"),
    "an epilogue on a tile that was copied": lambda: (
        Schedule(padded_convolution())
        .split("x", (4, 3))
        .cache_write("conv", "x.0")
        .fuse_at("out", "x.0")
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_means_what_its_expression_does(name: str) -> None:
    check_interpreted(CASES[name]())


@pytest.mark.parametrize("name", CASES)
def test_compiles_to_what_its_expression_means(name: str) -> None:
    check_compiled(CASES[name]())
