"""A nest lowered once for a population is, entry by entry, the nest of each candidate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from tests.schedule.programs import matmul, padded_convolution

from tilewright import Schedule, Tensor
from tilewright.expr.affine import Affine
from tilewright.expr.parts import loads
from tilewright.loops.nodes import Nest, loops, walk

Factors = Sequence[Any]


def _tiles(output: Tensor, y: Factors, x: Factors, k: Factors) -> Schedule:
    s = Schedule(output).split("y", y).split("x", x).split("k", k)
    s = s.reorder("y.0", "x.0", "k.0", "k.1", "y.1", "x.1").parallel("y.0").parallel("x.0")
    s = s.unroll("k.1").unroll("y.1").vectorize("x.1").pack("W").pack("A")
    return s.cache_write("C", "x.0")


def _epilogue(output: Tensor, x: Factors, c: Factors, k: Factors) -> Schedule:
    s = Schedule(output).inline("pad").split("x", x).split("c", c).split("k", k)
    s = s.reorder("x.0", "c.0", "k.0", "k.1", "x.1", "c.1").vectorize("c.1")
    return s.fuse_at("out", "c.0")


def _caches(output: Tensor, x: Factors, c: Factors, k: Factors) -> Schedule:
    s = Schedule(output).split("x", x).split("c", c).split("k", k)
    s = s.reorder("x.0", "c.0", "k.0", "k.1", "x.1", "c.1")
    return s.compute_at("pad", "x.0").cache_read("W", "k.0")


def _partial(output: Tensor, y: Factors, x: Factors, k: Factors) -> Schedule:
    s = Schedule(output).split("y", y).split("x", x).split("k", (*k, 1))
    s = s.reorder("k.1", "y.0", "x.0", "k.0", "k.2", "y.1", "x.1").unroll("y.1").vectorize("x.1")
    return s.rfactor("C", "k.1").rfactor("C.part", "k.0").parallel("k.1")


MATMUL = ([(4, 4), (2, 8), (6, 3), (1, 16)], [(1, 16), (4, 4), (3, 7), (2, 8)],
          [(16, 1), (8, 2), (6, 3), (4, 4)])  # fmt: skip
CONV = ([(5, 2), (4, 3), (2, 5), (1, 10)], [(1, 4), (2, 2), (4, 1), (2, 3)],
        [(3, 1), (1, 3), (2, 2), (3, 1)])  # fmt: skip


@pytest.mark.parametrize(
    ("schedule", "output", "choices"),
    [(_tiles, matmul(), MATMUL), (_partial, matmul(), MATMUL),
     (_epilogue, padded_convolution(), CONV), (_caches, padded_convolution(), CONV)],
    ids=["register tiles", "partial results", "epilogue on tiles", "regions"],
)  # fmt: skip
def test_entry_by_entry(schedule: Any, output: Tensor, choices: tuple[Factors, ...]) -> None:
    arrays = [tuple(np.array(column) for column in zip(*c, strict=True)) for c in choices]
    population = dict(_numbers(schedule(output, *arrays).loops))
    for i, factors in enumerate(zip(*choices, strict=True)):
        alone = dict(_numbers(schedule(output, *factors).loops))
        assert alone.keys() <= population.keys()
        for place, value in population.items():
            entry = value[i] if isinstance(value, np.ndarray) else value
            assert entry == alone.get(place, 0), place


def _numbers(nest: Nest) -> Iterator[tuple[Any, Any]]:
    """Every extent, shape and coefficient of a nest with the place at which it stands."""
    for loop in loops(nest.body):
        yield ("extent", loop.name, loop.kind, loop.reduce), loop.extent
    for buffer in nest.buffers:
        for d, extent in enumerate(buffer.shape):
            yield ("shape", buffer.name, buffer.scope, d), extent
    for outer, block in walk(nest.body):
        accesses = [(block.buffer, block.index), *((x.buffer, x.index) for x in loads(block.value))]
        for j, (name, index) in enumerate(accesses):
            for d, i in enumerate(index):
                yield from _terms((block.stage, j, name, d), i, [loop.name for loop in outer])


def _terms(place: Any, index: Affine, names: list[str]) -> Iterator[tuple[Any, Any]]:
    yield (*place, "constant"), index.constant
    for name in names:
        yield (*place, name), index.coefficient(name)
