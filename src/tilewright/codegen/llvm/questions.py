"""What may leave out all that a loop does: conditions on all of it, and zeros of tables."""

from __future__ import annotations

from typing import NamedTuple

from tilewright import dtypes
from tilewright.expr.scalar import Binary, Table, Within
from tilewright.loops.nodes import Block, Loop, loops, walk


class Questions(NamedTuple):
    """What to ask in front of a loop: `conditions` on all that it does, and `tables`.

    The loop adds up nothing where of each choice of tables one number is zero.
    """

    conditions: tuple[Within, ...]
    tables: tuple[tuple[Table, ...], ...]


def questions(
    loop: Loop, parent: Loop | None, common: tuple[Within, ...], above: tuple[Within, ...]
) -> Questions:
    """Return what was not asked in front of `parent`: what its variables go into, or is new.

    `common` are the conditions on all that the loop does, `above` those on all of its parent.
    """
    new = set(_variables(parent)) if parent else set[str]()
    inside = {name for inner in (loop, *loops(loop.body)) for name in _variables(inner)}
    found = [c for c in common if c not in above or not new.isdisjoint(c.index.variables)]
    conditions = tuple(c for c in found if inside.isdisjoint(c.index.variables))
    return Questions(conditions, _factors(loop, new))


def _variables(loop: Loop) -> tuple[str, ...]:
    return (loop.name, *(bind.name for bind in loop.binds))


def _factors(loop: Loop, new: set[str]) -> tuple[tuple[Table, ...], ...]:
    """Return the tables that are factors of each term; nothing if a term has none.

    Only those that a variable of `new` goes into: the others were asked for before.
    """
    found: list[tuple[Table, ...]] = []
    for _, block in walk(loop.body):
        tables = tuple(
            table
            for table in _of(block)
            if any(not new.isdisjoint(index.variables) for index in table.index)
        )
        if not tables:
            return ()
        found.append(tables)
    return tuple(found)


def _of(block: Block) -> list[Table]:
    match block.value:
        case Binary(op="mul", left=left, right=right, dtype=dtype) if dtypes.is_float(dtype):
            return (
                [x for x in (left, right) if isinstance(x, Table)] if block.reduce == "sum" else []
            )
        case _:
            return []
