"""A schedule: an expression, and the steps that turn its naive loops into a fast program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tilewright.errors import ScheduleError
from tilewright.expr.affine import Extent
from tilewright.expr.tensor import Tensor
from tilewright.loops.lower import lower
from tilewright.loops.nodes import Nest
from tilewright.schedule import find
from tilewright.schedule.annotate import Parallel, Unroll, Vectorize
from tilewright.schedule.cache_read import CacheRead
from tilewright.schedule.cache_write import CacheWrite
from tilewright.schedule.compute_at import ComputeAt
from tilewright.schedule.fuse import Fuse
from tilewright.schedule.fuse_at import FuseAt
from tilewright.schedule.inline import Inline
from tilewright.schedule.pack import Pack
from tilewright.schedule.pad import Pad
from tilewright.schedule.prefetch import Prefetch
from tilewright.schedule.reorder import Reorder
from tilewright.schedule.split import Split

PRIMITIVES = {
    kind.__name__: kind
    for kind in (
        Split, Reorder, Fuse, Parallel, Vectorize, Unroll, CacheRead, CacheWrite, Pack, Pad, Inline,
        ComputeAt, FuseAt, Prefetch,
    )
}  # fmt: skip


class Step(Protocol):
    """One primitive with its arguments: a frozen value that rewrites a nest or refuses to."""

    def apply(self, nest: Nest) -> Nest:
        """Return the new nest; raise ScheduleError, nothing changed, if the step is illegal."""
        ...


@dataclass(frozen=True)
class Schedule:
    """An expression and the steps applied to it so far; every method returns a new schedule.

    `loops` is the loop nest now, and prints as text. A step that would change the result raises
    ScheduleError. Factors may be arrays, one entry a candidate: then the nest is a population's.
    """

    output: Tensor
    steps: tuple[Step, ...] = ()
    loops: Nest = field(default=None, repr=False, compare=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.loops is None:  # pyright: ignore[reportUnnecessaryComparison]
            nest = lower(self.output)
            for step in self.steps:
                nest = step.apply(nest)
            object.__setattr__(self, "loops", nest)

    def apply(self, step: Step) -> Schedule:
        return Schedule(self.output, (*self.steps, step), step.apply(self.loops))

    def extent(self, loop: str) -> Extent:
        """Return how often a loop runs: an integer, or an array over the population."""
        return find.loop(self.loops, loop, f"ask for the extent of {loop!r}").extent

    def split(self, loop: str, factors: Sequence[Extent]) -> Schedule:
        return self.apply(Split(loop, tuple(_extent(f) for f in factors)))

    def pad(self, loop: str, multiple: int) -> Schedule:
        return self.apply(Pad(loop, multiple))

    def reorder(self, *loops: str) -> Schedule:
        return self.apply(Reorder(loops))

    def fuse(self, outer: str, inner: str) -> Schedule:
        return self.apply(Fuse(outer, inner))

    def parallel(self, loop: str) -> Schedule:
        return self.apply(Parallel(loop))

    def vectorize(self, loop: str) -> Schedule:
        return self.apply(Vectorize(loop))

    def unroll(self, loop: str) -> Schedule:
        return self.apply(Unroll(loop))

    def cache_read(self, tensor: str, loop: str) -> Schedule:
        return self.apply(CacheRead(tensor, loop))

    def cache_write(self, stage: str, loop: str) -> Schedule:
        return self.apply(CacheWrite(stage, loop))

    def pack(self, tensor: str) -> Schedule:
        return self.apply(Pack(tensor))

    def prefetch(self, tensor: str, distance: int) -> Schedule:
        return self.apply(Prefetch(tensor, distance))

    def inline(self, stage: str) -> Schedule:
        return self.apply(Inline(stage))

    def compute_at(self, stage: str, loop: str) -> Schedule:
        return self.apply(ComputeAt(stage, loop))

    def fuse_at(self, stage: str, loop: str) -> Schedule:
        return self.apply(FuseAt(stage, loop))

    def to_json(self) -> list[dict[str, Any]]:
        """Return the steps as plain values, from which `from_json` makes an equal schedule."""
        return [
            {"step": type(step).__name__, **{k: _plain(v) for k, v in _fields(step)}}
            for step in self.steps
        ]

    @staticmethod
    def from_json(output: Tensor, steps: Iterable[dict[str, Any]]) -> Schedule:
        """Apply recorded steps to an expression; raise ScheduleError where they do not fit."""
        made: list[Step] = []
        for entry in steps:
            arguments: dict[str, Any] = {
                k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()
            }
            kind = PRIMITIVES.get(str(arguments.pop("step", None)))
            if kind is None:
                raise ScheduleError(
                    f"cannot apply recorded step {entry}: no such primitive; "
                    f"there are {', '.join(PRIMITIVES)}."
                )
            try:
                made.append(kind(**arguments))
            except TypeError as error:
                raise ScheduleError(f"cannot apply recorded step {entry}: {error}.") from error
        return Schedule(output, tuple(made))


def _fields(step: Step) -> list[tuple[str, Any]]:
    return [(name, getattr(step, name)) for name in type(step).__dataclass_fields__]  # type: ignore[attr-defined]


def _extent(value: Any) -> Extent:
    return value.astype(np.int64) if isinstance(value, np.ndarray) and value.ndim else int(value)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return int(value) if isinstance(value, np.integer) else value
