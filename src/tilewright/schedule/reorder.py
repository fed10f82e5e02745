"""reorder: loops that enclose each other change places."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.loops.nodes import Loop, Nest, around, nest_in, swap, variables
from tilewright.schedule import find


@dataclass(frozen=True, slots=True)
class Reorder:
    """Put the named loops into the given order, in the places that they hold together.

    Between the outermost and the innermost of them each loop may hold nothing but the next one.
    Reduce loops may be moved: sum, max and min are associative up to rounding.

    >>> from tilewright import Schedule, compute, tensor
    >>> a = tensor("A", (4, 8))
    >>> s = Schedule(compute("B", (4, 8), lambda y, x: a[y, x] + 1.0))
    >>> print(s.reorder("x", "y").loops)
    for x in 8:
      for y in 4:
        B[y, x] = (A[y, x] + 1.0)
    """

    loops: tuple[str, ...]

    def apply(self, nest: Nest) -> Nest:
        asked = f"reorder {', '.join(self.loops)}"
        if not self.loops:
            find.refuse(nest, "reorder no loops", "name the loops, outermost first.")
        if len(set(self.loops)) != len(self.loops):
            find.refuse(nest, asked, "a loop is named twice.")
        for name in self.loops:
            find.loop(nest, name, asked)
        deepest = _deepest(nest, self.loops)
        depths = {loop.name: depth for depth, loop in enumerate(deepest)}
        for name in self.loops:
            if name not in depths:
                find.refuse(nest, asked, f"{name!r} and {deepest[-1].name!r} are not nested.")
        first = min(depths[name] for name in self.loops)
        span = deepest[first:]
        for outer in span[:-1]:
            if len(outer.body) > 1:
                find.refuse(nest, asked, f"{outer.name!r} holds more than one loop.")
        wanted = iter(self.loops)
        by_name = {loop.name: loop for loop in span}
        order = [by_name[next(wanted)] if p.name in self.loops else p for p in span]
        for place, fused in enumerate(order):
            inner = {name for loop in order[place + 1 :] for name in variables(loop)}
            needs = sorted({n for bind in fused.binds for n in bind.index.variables} & inner)
            if needs:
                find.refuse(
                    nest, asked, f"{fused.name!r} is fused, and needs {needs[0]!r} outside."
                )
        body = nest_in(tuple(order), span[-1].body)
        return nest.holding(swap(nest.body, span[0].name, lambda _: body[0]))


def _deepest(nest: Nest, names: tuple[str, ...]) -> tuple[Loop, ...]:
    """Return the loops down to the named one that the others are round, else to the deepest."""
    chains: list[tuple[Loop, ...]] = []
    for name in reversed(names):
        chain = around(nest.body, name)
        if {loop.name for loop in chain}.issuperset(names):
            return chain
        chains.append(chain)
    return max(reversed(chains), key=len)
