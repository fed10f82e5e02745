"""Ways: what a space's branches lead to, each a set of knobs with a count of candidates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.space.config import Value
from tilewright.space.knobs import Knob


@dataclass(frozen=True, slots=True)
class Way:
    """One way through every branch: `fixed` columns with their option, and the `free` ones."""

    fixed: tuple[tuple[int, int], ...]
    free: tuple[int, ...]
    size: int

    def rows(self, numbers: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the rows with these numbers within the way, last knob fastest."""
        rows = np.zeros((len(numbers), len(sizes)), np.int32)
        for column, option in self.fixed:
            rows[:, column] = option
        for column in reversed(self.free):
            step = int(
                sizes[column]
            )  # numbers of large spaces are Python's, for which divmod fails
            rows[:, column], numbers = numbers % step, numbers // step
        return rows

    def has(self, row: Sequence[int]) -> bool:
        return all(int(row[column]) == option for column, option in self.fixed)

    def number(self, row: Sequence[int], sizes: NDArray[np.int64]) -> int:
        """Return the number of a row within the way."""
        total = 0
        for column in self.free:
            total = total * int(sizes[column]) + int(row[column])
        return total


def ways(knobs: tuple[Knob, ...]) -> tuple[Way, ...]:
    """Return every way through the branches of these knobs; the only one if there are none."""
    branches = {knob.name for knob in knobs if knob.kind == "branch"}
    found: list[Way] = []
    for taken in _walk(knobs, branches, {}):
        mine = [i for i, knob in enumerate(knobs) if is_asked(knob, taken)]
        fixed = tuple(
            (i, knobs[i].options.index(taken[knobs[i].name]))
            for i in mine
            if knobs[i].name in branches
        )
        free = tuple(i for i in mine if knobs[i].name not in branches)
        found.append(Way(fixed, free, math.prod(len(knobs[i].options) for i in free)))
    return tuple(found)


def is_asked(knob: Knob, taken: Mapping[str, Any]) -> bool:
    """Whether a program that took these ways asks for a knob."""
    return all(name in taken and taken[name] == value for name, value in knob.when)


def _walk(
    knobs: tuple[Knob, ...], branches: set[str], taken: dict[str, Value]
) -> Iterator[dict[str, Value]]:
    for knob in knobs:
        if knob.name in branches and knob.name not in taken and is_asked(knob, taken):
            for option in knob.options:
                yield from _walk(knobs, branches, {**taken, knob.name: option})
            return
    yield taken
