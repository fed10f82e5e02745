"""The tree of loops as features: who stands in whom, what is said of each, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tilewright.expr.parts import loads
from tilewright.features.loops import COLUMNS, contexts
from tilewright.features.tree import NODE, Tree
from tilewright.loops.nodes import Block, Loop, Nest, Node, walk
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.schedule.schedule import Schedule
from tilewright.tuning.task import Task

CONV = Task(Conv2d(1, 14, 14, 16, 32, (3, 3), pads=(1, 1, 1, 1), relu=True))
ALL = Tree(nodes=100)


def table(nest: Nest, tree: Tree = ALL) -> np.ndarray[Any, Any]:
    return tree.of(nest, 1)[0].reshape(tree.nodes, len(NODE))


def column(nodes: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
    return nodes[:, NODE.index(name)]


def edges(nodes: tuple[Node, ...], inside: float = 0.0) -> Iterator[tuple[float, float]]:
    """Yield the extent of each node (0 for a block) with that of the loop round it."""
    for node in nodes:
        own = float(node.extent) if isinstance(node, Loop) else 0.0
        yield own, inside
        if isinstance(node, Loop):
            yield from edges(node.body, own)


def nests() -> Iterator[Nest]:
    rows = CONV.space.sample(np.random.default_rng(0), 12)
    for row in rows:
        yield CONV.schedule(CONV.space.config(row)).loops


def test_a_product_as_a_tree() -> None:
    nodes = table(Schedule(Dense(8, 16, 4).expression()).loops)[:6]
    assert column(nodes, "block").tolist() == [1, 0, 0, 0, 0, 0]
    assert column(nodes, "loop").tolist() == [0, 1, 1, 1, 0, 0]
    assert column(nodes, "parent").tolist() == [2, 3, 4, 0, 0, 0], "the block, k, x, y"
    extents = np.exp2(column(nodes, "extent")) - 1
    assert extents == pytest.approx([0, 16, 4, 8, 0, 0])
    block = dict(zip(NODE, nodes[0].tolist(), strict=True))
    assert [block[name] for name in ("loads", "adds", "muls", "others")] == pytest.approx(
        [np.log2(3), 1, 1, 0]
    )
    assert block["outer"] == pytest.approx(np.log2(1 + 8 * 16 * 4))
    assert block["reduce"] == 1
    assert len(np.unique(column(nodes[:4], "name"))) == 4


def test_every_loop_and_block_stands_where_it_does_in_the_nest() -> None:
    for nest in nests():
        nodes = table(nest)
        there = nodes[(column(nodes, "loop") + column(nodes, "block")) > 0]
        extents = np.round(np.exp2(column(there, "extent")) - 1)
        parents = column(there, "parent").astype(int)
        outer = np.where(parents > 0, extents[parents - 1], 0)
        found = sorted(zip(extents.tolist(), outer.tolist(), strict=True))
        assert found == sorted(edges(nest.body))


def test_a_loop_has_the_context_of_the_first_block_in_it() -> None:
    for nest in nests():
        nodes = table(nest)
        own = nodes[column(nodes, "loop") > 0][:, NODE.index(COLUMNS[0]) :][:, : len(COLUMNS)]
        known = {row.tobytes() for row in contexts(nest, 1)[0]}
        assert all(row.tobytes() in known for row in own)
        first = len(next(outer for outer, block in walk(nest.body) if _multiplies(block)))
        np.testing.assert_array_equal(own[:first][::-1], contexts(nest, 1)[0][:first])


def test_what_finds_no_room_is_left_out_from_the_outside_in() -> None:
    for nest in nests():
        every = table(nest)
        for limit in (1, 3, 12):
            some = table(nest, Tree(nodes=limit))
            np.testing.assert_array_equal(some[:, 1:], every[:limit, 1:])
            kept = column(every[:limit], "parent") <= limit
            np.testing.assert_array_equal(column(some, "parent")[kept], every[:limit, 0][kept])
            assert (column(some, "parent") <= limit).all()


def test_names_are_the_same_for_every_candidate() -> None:
    rows = CONV.space.sample(np.random.default_rng(0), 40)
    found = Tree().extract(CONV.space, rows).reshape(len(rows), Tree().nodes, len(NODE))
    names = found[:, :, NODE.index("name")]
    assert (names == np.round(names)).all()
    assert names.max() < 2**24, "float32 holds them exactly"
    assert len(np.unique(names)) < 100


def _multiplies(block: Block) -> bool:
    return block.reduce is not None and len(loads(block.value)) == 2
