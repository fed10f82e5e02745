"""Rows of tree features as one forest, level by level, so that all trees are walked at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.features.tree import NODE, Tree

Places = NDArray[np.intp]
_PARENT, _NAME, _LOOP, _BLOCK = (NODE.index(c) for c in ("parent", "name", "loop", "block"))


@dataclass(frozen=True, eq=False, slots=True)
class Level:
    """So many nodes, equally deep; `round` says in which of them each one a level below is."""

    size: int
    round: Places


@dataclass(frozen=True, eq=False, slots=True)
class Forest:
    """All nodes of `rows` trees, the deepest first: of which row, called what, and like what."""

    rows: int
    row: Places
    name: NDArray[np.int64]
    values: NDArray[np.float32]
    loop: NDArray[np.bool_]
    root: NDArray[np.bool_]
    levels: tuple[Level, ...]

    @staticmethod
    def of(X: NDArray[np.float32], tree: Tree, columns: tuple[str, ...]) -> Forest:
        """Read rows that `tree` made, of each node the `columns`; any other is a single loop."""
        if X.shape[1] != tree.nodes * len(NODE):
            return _single(X)
        table = X.reshape(len(X) * tree.nodes, len(NODE))
        there = (table[:, _LOOP] > 0) | (table[:, _BLOCK] > 0)
        parent, depth = _parents(table[:, _PARENT].reshape(len(X), tree.nodes))
        at = np.flatnonzero(there)
        at = at[np.argsort(-depth[at], kind="stable")]
        kept = table[at]
        return Forest(
            len(X),
            at // tree.nodes,
            kept[:, _NAME].astype(np.int64),
            kept[:, [NODE.index(column) for column in columns]],
            kept[:, _LOOP] > 0,
            depth[at] == 0,
            _levels(at, parent, depth),
        )


def _single(X: NDArray[np.float32]) -> Forest:
    all_ = np.ones(len(X), bool)
    level = Level(len(X), np.zeros(0, np.intp))
    return Forest(len(X), np.arange(len(X)), np.zeros(len(X), np.int64), X, all_, all_, (level,))


def _parents(places: NDArray[Any]) -> tuple[Places, Places]:
    """Return for each node, all rows in one: the number of its parent or -1, and how deep it is."""
    parent = places.astype(np.intp) - 1
    up, depth = parent, np.zeros(parent.shape, np.intp)
    while (inside := up >= 0).any():
        depth += inside
        up = np.where(inside, np.take_along_axis(parent, np.maximum(up, 0), 1), -1)
    first = parent.shape[1] * np.arange(len(parent))[:, None]
    return np.where(parent >= 0, parent + first, -1).ravel(), depth.ravel()


def _levels(at: Places, parent: Places, depth: Places) -> tuple[Level, ...]:
    """Return the levels of nodes `at`, which are sorted by depth, the deepest first."""
    sizes = np.bincount(depth[at], minlength=1)[::-1]
    stops = np.cumsum(sizes)
    place = np.empty(len(parent), np.intp)
    place[at] = np.arange(len(at))
    levels: list[Level] = []
    below = at[:0]
    for size, stop in zip(sizes.tolist(), stops.tolist(), strict=True):
        start = stop - size
        levels.append(Level(size, place[parent[below]] - start))
        below = at[start:stop]
    return tuple(levels)
