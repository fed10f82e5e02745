"""Features of populations: one width, the same for a row in any company, and numbers that tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright.expr.parts import loads
from tilewright.features import Context, Costs, Extractor, Joined, KnobValues, Relation, Tree
from tilewright.features.loops import COLUMNS, contexts
from tilewright.loops.nodes import walk
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.ops.elementwise import Relu, Transpose
from tilewright.ops.gather import Gather, GatherElements
from tilewright.ops.pool2d import GlobalAveragePool, Pool2d
from tilewright.schedule.schedule import Schedule
from tilewright.tuning.task import Operator, Task

OPERATORS: tuple[Operator, ...] = (
    Conv2d(1, 7, 9, 5, 13, (3, 3), (2, 1), (1, 1, 0, 1), bias=True, residual=True, relu=True),
    Conv2d(1, 6, 6, 8, 8, (3, 3), pads=(1, 1, 1, 1), groups=4),
    Conv2d(1, 1, 1, 1, 1, (1, 1)),
    Dense(3, 17, 31, bias=True),
    Pool2d("max", 1, 9, 9, 5, (3, 3), (2, 2), (1, 1, 1, 1)),
    GlobalAveragePool(1, 7, 7, 20),
    Relu(1),
    Transpose((3, 4, 5), (2, 0, 1)),
    Gather((70, 5, 17), (2, 3), 1),
    GatherElements((5, 19), (5, 16), 1),
)
NEST = (Context(), Relation())
EXTRACTORS: tuple[Extractor, ...] = (*NEST, KnobValues(), Joined(NEST), Tree(), Costs())
CONV = Task(Conv2d(1, 14, 14, 16, 32, (3, 3), pads=(1, 1, 1, 1), relu=True))


def rows(task: Task, n: int = 48, seed: int = 0) -> np.ndarray[Any, Any]:
    return task.space.sample(np.random.default_rng(seed), n)


@pytest.mark.parametrize("extractor", [*NEST, Tree(), Costs()], ids=lambda e: type(e).__name__)
def test_the_width_does_not_depend_on_the_program(extractor: Context | Relation | Tree | Costs):
    widths = set[int]()
    for operator in OPERATORS:
        task = Task(operator)
        found = extractor.extract(task.space, rows(task))
        assert found.dtype == np.float32
        assert np.isfinite(found).all(), operator
        widths.add(found.shape[1])
    assert widths == {len(extractor.names)}
    assert len(set(extractor.names)) == len(extractor.names)


@pytest.mark.parametrize("extractor", EXTRACTORS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: o.name)
def test_a_row_has_its_features_in_any_company(extractor: Extractor, operator: Operator):
    task = Task(operator)
    population = rows(task)
    together = extractor.extract(task.space, population)
    assert len(together) == len(population)
    for i in range(0, len(population), 7):
        alone = extractor.extract(task.space, population[i : i + 1])
        np.testing.assert_array_equal(alone[0], together[i])
    backwards = extractor.extract(task.space, population[::-1])
    np.testing.assert_array_equal(backwards[::-1], together)


def test_a_population_has_the_features_of_its_instances():
    """What arrays of extents say is what each plain nest says for itself."""
    population = rows(CONV, 24)
    for extractor in NEST:
        together = extractor.extract(CONV.space, population)
        for row, features in zip(population, together, strict=True):
            nest = CONV.schedule(CONV.space.config(row)).loops
            np.testing.assert_allclose(extractor.of(contexts(nest, 1))[0], features, rtol=1e-5)
    for row, features in zip(population, Tree().extract(CONV.space, population), strict=True):
        nest = CONV.schedule(CONV.space.config(row)).loops
        np.testing.assert_allclose(Tree().of(nest, 1)[0], features, rtol=1e-5)


def test_joined_features_lie_side_by_side():
    population = rows(CONV)
    parts = [e.extract(CONV.space, population) for e in NEST]
    np.testing.assert_array_equal(Joined(NEST).extract(CONV.space, population), np.hstack(parts))


def test_different_candidates_differ():
    population = rows(CONV, 200)
    found = Joined(NEST).extract(CONV.space, population)
    assert len(np.unique(found, axis=0)) > 0.9 * len(population)


def test_no_rows_make_no_features():
    none = np.empty((0, len(CONV.space.knobs)), np.int32)
    for extractor in EXTRACTORS:
        assert len(extractor.extract(CONV.space, none)) == 0


def test_the_context_of_a_loop():
    """y and k of a small product: extents, what is outside and inside, bytes touched, strides."""
    nest = Schedule(Dense(8, 16, 4).expression()).loops
    ((outer, _),) = walk(nest.body)
    assert [loop.name for loop in outer] == ["y", "x_", "k"]
    table = np.exp2(contexts(nest, 1)[0]) - 1
    got = {
        loop.name: dict(zip(COLUMNS, row, strict=True))
        for loop, row in zip(outer, table, strict=True)
    }
    assert [got[n]["extent"] for n in ("y", "x_", "k")] == pytest.approx([8, 4, 16])
    assert [got[n]["outer"] for n in ("y", "x_", "k")] == pytest.approx([1, 8, 32])
    assert [got[n]["inner"] for n in ("y", "x_", "k")] == pytest.approx([512, 64, 16])
    assert got["k"]["touched_store"] == pytest.approx(4)
    assert got["y"]["touched_store"] == pytest.approx(4 * 8 * 4)
    assert got["y"]["touched_max"] == pytest.approx(4 * 8 * 16)
    assert got["k"]["stride_max"] == pytest.approx(4)
    assert got["y"]["stride_max"] == pytest.approx(16)


def test_larger_work_has_no_smaller_features():
    """Extents, bytes and reuse can only grow with the size of a matrix product."""
    small, large = (Schedule(Dense(n, n, n).expression()).loops for n in (8, 64))
    growing = [COLUMNS.index(c) for c in ("extent", "inner", "touched", "touched_max", "reuse_max")]
    before, after = contexts(small, 1)[0][:, growing], contexts(large, 1)[0][:, growing]
    assert (after >= before).all()
    assert (after[0] > before[0]).all()


def test_the_loops_round_the_work_are_never_left_out():
    """A nest of more loops than there is room for keeps those of the block that multiplies."""
    population = rows(CONV, 8)
    context = Context()
    for row in population:
        nest = CONV.schedule(CONV.space.config(row)).loops
        outer, _ = next(p for p in walk(nest.body) if p[1].reduce and len(loads(p[1].value)) == 2)
        assert len(outer) <= context.loops
        table = context.of(contexts(nest, 1))[0].reshape(context.loops, len(COLUMNS))
        vector = [loop for loop in outer if loop.kind == "vectorize"]
        inner = np.log2(1 + np.array([float(loop.extent) for loop in vector]))
        flagged = table[table[:, COLUMNS.index("vectorize")] == 1, COLUMNS.index("extent")]
        assert all(np.isclose(flagged, extent).any() for extent in inner)
