"""Names as places: how recorded steps find what they name where equal work has other names.

A step names loops, stages and tensors as they are called in the nest at hand. Recorded with it is
where each of these stands there: the number of the loop in the nest, of the stage, of the buffer.
Nests of equal work differ in names alone, step by step, so places mean the same in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from tilewright.errors import ScheduleError
from tilewright.loops.nodes import Nest, loops, walk

Kind: TypeAlias = Literal["loop", "stage", "tensor"]

NAMES: Mapping[str, Kind] = {
    "loop": "loop",
    "loops": "loop",
    "outer": "loop",
    "inner": "loop",
    "stage": "stage",
    "tensor": "tensor",
}
"""The fields of steps that name something, and what."""

ELSEWHERE = ("intrinsic",)
"""The fields whose names are the same in all nests."""


def places(nest: Nest, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the number, or numbers, of what each argument names in the nest it is applied to."""
    known = _known(nest)
    found: dict[str, Any] = {}
    for field, value in arguments.items():
        if field in NAMES:
            listed = known[NAMES[field]]
            several = isinstance(value, tuple | list)
            found[field] = [listed.index(v) for v in value] if several else listed.index(value)
    return found


def named(nest: Nest, places: Mapping[str, Any]) -> dict[str, Any]:
    """Return what stands at the places in a nest, by name; raise ScheduleError if nothing does."""
    known = _known(nest)
    found: dict[str, Any] = {}
    for field, place in places.items():
        listed = known.get(NAMES.get(field, "loop"), [])
        several = isinstance(place, tuple | list)
        wanted: list[Any] = list(place) if several else [place]
        if not all(isinstance(p, int) and 0 <= p < len(listed) for p in wanted):
            raise ScheduleError(
                f"cannot find {field} {place} of {nest.name}: there are {len(listed)}, "
                f"{', '.join(listed) or 'none'}; the step was recorded on another nest."
            )
        names = [listed[p] for p in wanted]
        found[field] = tuple(names) if several else names[0]
    return found


def _known(nest: Nest) -> dict[Kind, list[str]]:
    return {
        "loop": [loop.name for loop in loops(nest.body)],
        "stage": list(dict.fromkeys(block.stage for _, block in walk(nest.body))),
        "tensor": [buffer.name for buffer in nest.buffers],
    }
