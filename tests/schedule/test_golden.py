"""Nests as text: what each program looks like, naive and scheduled."""

from __future__ import annotations

from collections.abc import Callable

from tests.schedule.programs import matmul, padded_convolution, pointwise

import tilewright as tw
from tilewright import Schedule


def _tiled_matmul() -> Schedule:
    s = Schedule(matmul(20))
    s = s.split("y", (5, 4)).split("x", (2, 16)).split("k", (10, 2))
    s = s.reorder("y.0", "x.0", "k.0", "k.1", "y.1", "x.1").parallel("y.0").parallel("x.0")
    s = s.unroll("k.1").unroll("y.1").vectorize("x.1")
    return s.pack("A").pack("W").cache_write("C", "x.0")


def _fused_convolution() -> Schedule:
    s = Schedule(padded_convolution()).inline("pad").split("x", (4, 3))
    return s.reorder("x.0", "k", "x.1", "c").vectorize("c").fuse_at("out", "x.0")


NESTS: dict[str, Callable[[], Schedule]] = {
    "pointwise, naive": lambda: Schedule(pointwise()),
    "pointwise, padded and vectorised": lambda: Schedule(pointwise(7)).pad("x", 4).vectorize("x"),
    "a scalar": lambda: Schedule(_scalar()),
    "matmul, naive": lambda: Schedule(matmul()),
    "matmul in register tiles": _tiled_matmul,
    "matmul, loops fused and split again": lambda: (
        Schedule(matmul(4)).fuse("y", "x").split("y+x", (3, 6)).parallel("y+x.0")
    ),
    "row sums in vector lanes": lambda: _rows(),
    "a scalar, its parts shared among threads": lambda: (
        Schedule(_scalar()).split("k", (2, 5)).rfactor("total", "k.0").parallel("k.0")
    ),
    "convolution, naive": lambda: Schedule(padded_convolution()),
    "convolution, borders inlined, epilogue on tiles": _fused_convolution,
    "convolution, the padding computed where it is read": lambda: (
        Schedule(padded_convolution()).split("x", (2, 5)).compute_at("pad", "x.0")
    ),
    "convolution, its input cached": lambda: (
        Schedule(padded_convolution()).inline("pad").split("x", (2, 5)).cache_read("A", "x.0")
    ),
}


def _rows() -> Schedule:
    """Row sums in two vectors of partial results, added up in registers."""
    a, k = tw.tensor("A", (6, 50)), tw.reduce_axis("k", 50)
    s = Schedule(tw.compute("B", (6,), lambda y: tw.sum(a[y, k], over=k)))
    s = s.split("k", (2, 32)).split("y", (3, 2)).reorder("y.0", "k.0", "y.1", "k.1").unroll("y.1")
    s = s.rfactor("B", "k.1").vectorize("k.1").vectorize("B:k.1")
    return s.cache_write("B", "y.0").parallel("y.0")


def _scalar() -> tw.Tensor:
    a, k = tw.tensor("A", (9,)), tw.reduce_axis("k", 9)
    return tw.compute("total", (), lambda: tw.max(a[k], over=k))


def test_nests(golden: Callable[[str, str], None]) -> None:
    texts = [f"# {name}\n{make().loops}\n" for name, make in NESTS.items()]
    golden("nests", "\n".join(texts))
