"""The program as a tree: every loop with its context, every block, and which loop is round it."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.expr.parts import walk
from tilewright.expr.scalar import Binary, Cast, Load, Scalar, Select, Unary
from tilewright.features.extractor import of_nests
from tilewright.features.loops import COLUMNS, by_block
from tilewright.loops.nodes import Block, Loop, Nest
from tilewright.schedule.schedule import Schedule
from tilewright.space.space import Space

NODE = ("parent", "name", "loop", "block", *COLUMNS, "loads", "adds", "muls", "others")
_AT = {column: i for i, column in enumerate(NODE)}
_CONTEXT = slice(_AT[COLUMNS[0]], _AT[COLUMNS[-1]] + 1)

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Tree:
    """Up to `nodes` loops and blocks of a nest, each a row of the columns `NODE`.

    `parent` is the place of the loop round a node, counted from 1, or 0; `name` is a number made of
    a loop variable's name, or of the buffer that a block stores to. A loop has the context of the
    first block in it, a block how often it runs, whether it reduces, and what one round computes.

    Nodes stand in this order: blocks as `contexts` sorts them, the one that multiplies and adds
    first; after each of them its loops that have no place yet, from the inside out. What finds no
    room is left out, and what stands in it belongs to the next loop round that.
    """

    nodes: int = 40
    version: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{node}.{column}" for node in range(self.nodes) for column in NODE)

    def of(self, nest: Nest, count: int) -> Array:
        out = np.zeros((count, self.nodes, len(NODE)), np.float32)
        places: dict[str, int] = {}
        used = 0
        for (outer, block), table in by_block(nest, count):
            if used == self.nodes:
                break
            inner = used
            used += 1
            _put_block(out[:, inner], outer, block)
            for loop, context in zip(reversed(outer), reversed(table), strict=True):
                place = places.get(loop.name)
                if place is None and used < self.nodes:
                    place = places[loop.name] = used
                    used += 1
                    _put_loop(out[:, place], loop, context)
                    out[:, inner, _AT["parent"]] = place + 1
                    inner = place
                elif place is not None:
                    out[:, inner, _AT["parent"]] = place + 1
                    break
        return out.reshape(count, -1)

    def extract(self, space: Space[Schedule], rows: Array) -> Array:
        return of_nests(space, rows, self.nodes * len(NODE), self.of)


def _put_loop(node: Array, loop: Loop, context: Array) -> None:
    node[:, _AT["loop"]] = 1
    node[:, _AT["name"]] = _number(loop.name)
    node[:, _CONTEXT] = context.T


def _put_block(node: Array, outer: tuple[Loop, ...], block: Block) -> None:
    runs = np.ones(len(node))
    for loop in outer:
        runs = runs * loop.extent
    node[:, _AT["block"]] = 1
    node[:, _AT["name"]] = _number(block.buffer)
    node[:, _AT["outer"]] = np.log2(1 + runs)
    node[:, _AT["reduce"]] = block.reduce is not None
    loads, adds, muls, others = _operations(block.value)
    counts = (loads, adds + (block.reduce == "sum"), muls, others)
    node[:, _AT["loads"] :] = np.log2(1 + np.array(counts))


def _operations(value: Scalar) -> tuple[int, int, int, int]:
    """Return how many loads, additions, multiplications and other operations there are."""
    parts = list(walk(value))
    binary = [part.op for part in parts if isinstance(part, Binary)]
    adds, muls = sum(op in ("add", "sub") for op in binary), binary.count("mul")
    rest = len(binary) - adds - muls
    rest += sum(isinstance(part, Unary | Select | Cast) for part in parts)
    return sum(isinstance(part, Load) for part in parts), adds, muls, rest


def _number(name: str) -> int:
    """Return a number for a name, the same in every process, that float32 holds exactly."""
    return zlib.crc32(name.encode()) >> 8
