"""What steps share that compute a stage by another algorithm: sums of products in between."""

from __future__ import annotations

from dataclasses import replace

from tilewright.expr.affine import Affine
from tilewright.expr.parts import rebuild
from tilewright.expr.scalar import Binary, Load, Scalar, Table
from tilewright.loops.nodes import Block, Buffer, Loop, Nest, Node
from tilewright.schedule import find
from tilewright.schedule.toom_cook import Matrix


def factors(nest: Nest, outer: tuple[Loop, ...], block: Block, asked: str) -> tuple[Scalar, Scalar]:
    """Return the two factors of an unscheduled sum of products; refuse anything else."""
    value = block.value
    if not isinstance(value, Binary) or (block.reduce, value.op) != ("sum", "mul"):
        find.refuse(nest, asked, "it is no sum of products.")
    if block.guards or block.when or any(o.kind != "serial" or o.binds for o in outer):
        find.refuse(nest, asked, "its loops are already scheduled.")
    return value.left, value.right


def in_place(nest: Nest, root: Loop, buffers: list[Buffer], nodes: list[Node]) -> Nest:
    """Return a nest in which the loops of other stages stand in the place of one."""
    at = next(i for i, node in enumerate(nest.body) if node is root)
    body = (*nest.body[:at], *nodes, *nest.body[at + 1 :])
    return replace(nest, buffers=(*nest.buffers, *buffers), body=body)


def affine(name: str) -> Affine:
    """Return the index that a loop is."""
    return Affine(0, ((name, 1),))


def variable(index: Affine) -> str:
    """Return the loop that an index is, or '' if it is anything else."""
    plain = index.constant == 0 and len(index.terms) == 1 and index.terms[0][1] == 1
    return index.terms[0][0] if plain else ""


def indices(value: Scalar) -> list[Affine]:
    """Return every index in a value, those of conditions included."""
    found: list[Affine] = []

    def note(part: Scalar) -> Scalar:
        if isinstance(part, Load | Table):
            found.extend(part.index)
        elif hasattr(part, "index"):
            found.append(part.index)  # type: ignore[attr-defined]
        return part

    rebuild(value, note)
    return found


def table(name: str, matrix: Matrix, index: tuple[Affine, ...], dtype: str) -> Table:
    """Return an element of a matrix that is part of the code."""
    values = tuple(float(x) for row in matrix for x in row)
    return Table(name, values, (len(matrix), len(matrix[0])), index, dtype)


def times(left: Scalar, right: Scalar) -> Binary:
    """Return a product of the type of the right factor."""
    return Binary("mul", left, right, right.dtype)
