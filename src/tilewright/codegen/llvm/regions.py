"""Where a loop's conditions are decided: its range cut into pieces in which they hold or do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tilewright.expr.parts import conditions as select_conditions
from tilewright.expr.scalar import Within
from tilewright.loops.nodes import Block, Loop, Node, loops, walk

PEEL = 4  # rounds at a border that are written out one by one, at most

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions under a node: those that guard every block, and all."""

    common: tuple[Within, ...]
    every: tuple[Within, ...]


def conditions(nodes: Sequence[Node]) -> Conditions:
    """Collect what guards the blocks below, conditions inside of values included."""
    common: list[Within] | None = None
    every: dict[Within, None] = {}
    for _, block in walk(tuple(nodes)):
        own = (*block.guards, *block.when)
        common = list(own) if common is None else [c for c in common if c in own]
        every.update(dict.fromkeys((*own, *select_conditions(block.value))))
    return Conditions(tuple(common or ()), tuple(every))


def inner_kinds(nodes: Sequence[Node]) -> tuple[dict[str, Range], set[str]]:
    """Return the range of every variable bound below, and those that serial loops bind."""
    ranges: dict[str, Range] = {}
    serial: set[str] = set()
    for loop in loops(tuple(nodes)):
        ranges[loop.name] = (0, loop.extent - 1)
        for bind in loop.binds:
            ranges[bind.name] = (0, bind.modulus - 1)
            serial.add(bind.name)
        if loop.kind in ("serial", "parallel") and loop.extent > 1:
            serial.add(loop.name)
    return ranges, serial


def pieces(
    variable: str, start: int, stop: int, peel: Sequence[Within], ranges: Callable[[str], Range]
) -> list[tuple[int, int, bool]]:
    """Cut `start <= variable < stop` into (start, stop, decided) pieces.

    In a decided piece each condition either always or never holds, whatever the other variables.
    """
    cuts = {start, stop}
    spans: list[tuple[Range, Range]] = []
    for condition in peel:
        always, maybe = _spans(condition, variable, start, stop, ranges)
        spans.append((always, maybe))
        cuts.update(p for p in (*always, *maybe) if start < p < stop)
    edges = sorted(cuts)
    out: list[tuple[int, int, bool]] = []
    for a, b in pairwise(edges):
        decided = all(
            (always[0] <= a and b <= always[1]) or b <= maybe[0] or a >= maybe[1]
            for always, maybe in spans
        )
        out.append((a, b, decided))
    return out


def _spans(
    condition: Within, variable: str, start: int, stop: int, ranges: Callable[[str], Range]
) -> tuple[Range, Range]:
    """Return the half-open ranges in which a condition always, and perhaps, holds."""
    step = int(condition.index.coefficient(variable))
    rest = type(condition.index)(
        condition.index.constant, tuple(t for t in condition.index.terms if t[0] != variable)
    )
    low, high = rest.bounds(ranges)
    always = _solve(step, condition.low - low, condition.high - 1 - high, start, stop)
    maybe = _solve(step, condition.low - high, condition.high - 1 - low, start, stop)
    return always, maybe


def _solve(step: int, low: int, high: int, start: int, stop: int) -> Range:
    """Return the v in [start, stop) with low <= step * v <= high, half open; else (stop, stop)."""
    if step < 0:
        low, high, step = -high, -low, -step
    first, last = max(start, -(-low // step)), min(stop - 1, high // step)
    return (first, last + 1) if first <= last else (stop, stop)


def written(nodes: Sequence[Node]) -> set[str]:
    return {block.buffer for _, block in walk(tuple(nodes))}


def chain_of_parallel(loop: Loop) -> tuple[tuple[Loop, ...], tuple[Node, ...]]:
    """Return the parallel loops nested directly in each other, and what the last one holds."""
    chain = [loop]
    while len(chain[-1].body) == 1:
        inner = chain[-1].body[0]
        if isinstance(inner, Block) or inner.kind != "parallel" or chain[-1].binds:
            break
        chain.append(inner)
    return tuple(chain), chain[-1].body
