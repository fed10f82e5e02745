"""Finding loops and stages in a nest, with errors that list what there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from tilewright.errors import ScheduleError
from tilewright.expr.affine import anywhere, text
from tilewright.expr.scalar import Load
from tilewright.loops.nodes import Block, Buffer, Loop, Nest, Node, Path, around, walk


def refuse(nest: Nest, asked: str, reason: str) -> NoReturn:
    """Raise the error of an illegal step: what was asked, of what, and why it cannot be."""
    chain = " ".join(f"{loop.name}({text(loop.extent)})" for loop in nest.loops.values())
    raise ScheduleError(f"cannot {asked} of {nest.name}: {reason}\n  nest: {chain or 'no loops'}")


def loop(nest: Nest, name: str, asked: str) -> Loop:
    found = _loop(nest, name)
    if found is not None:
        return found
    refuse(nest, asked, f"there is no loop {name!r}; the loops are {', '.join(nest.loops)}.")


def _loop(nest: Nest, name: str) -> Loop | None:
    for root in nest.body:
        if isinstance(root, Loop):
            found = root if root.name == name else root.inside.get(name)
            if found is not None:
                return found
    return None


def buffer(nest: Nest, name: str, asked: str) -> Buffer:
    if name in nest.by_name:
        return nest.by_name[name]
    refuse(nest, asked, f"there is no tensor {name!r}; there are {', '.join(nest.by_name)}.")


def stage(nest: Nest, name: str, asked: str) -> tuple[tuple[Loop, ...], Block]:
    """Return the one block of a stage, with the loops round it."""
    found = [(outer, block) for outer, block in walk(nest.body) if block.stage == name]
    if len(found) == 1:
        return found[0]
    names = ", ".join(dict.fromkeys(block.stage for _, block in walk(nest.body)))
    reason = f"it has {len(found)} blocks" if found else f"there is none; stages are {names}"
    refuse(nest, asked, f"stage {name!r}: {reason}.")


def through(nest: Nest, loop: Loop) -> Iterator[Path]:
    """Yield every block in a loop, with the loops round it, those round the loop included."""
    chain = around(nest.body, loop.name)
    for inner, block in loop.paths:
        yield (*chain, *inner), block


def writer(nest: Nest, name: str, asked: str) -> Block:
    """Return the one block that stores to a buffer."""
    found = [block for block in blocks(nest.body) if block.buffer == name]
    if len(found) != 1:
        refuse(nest, asked, f"{len(found)} blocks store to {name!r}; one must.")
    return found[0]


def readers(nest: Nest, name: str) -> list[tuple[tuple[Loop, ...], Block, list[Load]]]:
    """Return the blocks that load a buffer, with the loops round them and the loads."""
    out: list[tuple[tuple[Loop, ...], Block, list[Load]]] = []
    for outer, block in walk(nest.body):
        if found := [load for load in block.loads if load.buffer == name]:
            out.append((outer, block, found))
    return out


def gathered(nest: Nest, name: str) -> bool:
    """Whether a buffer is loaded at an index that is data."""
    return any(load.gathered for _, _, found in readers(nest, name) for load in found)


def blocks(nodes: tuple[Node, ...]) -> list[Block]:
    """Return every block below `nodes`."""
    return [block for _, block in walk(nodes)]


def alone(nest: Nest, root: Loop, asked: str) -> None:
    """Refuse to move a stage whose loops also hold another, which would stay behind."""
    others = [b.stage for b in blocks((root,))][1:]
    if others:
        others = [b.stage for b in blocks((root,))]
        refuse(nest, asked, f"its loops hold {' and '.join(others)}; move it before the others.")


def no_vector(nest: Nest, name: str, asked: str) -> None:
    """Refuse to put a tile into a vector loop: its rounds, run at once, would share the tile."""
    for outer in around(nest.body, name):
        if outer.kind == "vectorize" and anywhere(outer.extent > 1):
            refuse(nest, asked, f"the rounds of {outer.name!r}, a vector, would share one tile.")


def unused(nest: Nest, name: str, asked: str) -> None:
    """Refuse a new loop or buffer name that is taken."""
    if name in nest.by_name or _loop(nest, name):
        refuse(nest, asked, f"the name {name!r} is taken.")
