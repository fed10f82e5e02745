"""A schedule: an expression, and the steps that turn its naive loops into a fast program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from tilewright.errors import ScheduleError
from tilewright.expr.affine import Extent
from tilewright.expr.tensor import Tensor
from tilewright.loops.lower import lower
from tilewright.loops.nodes import Nest
from tilewright.schedule import find, intrinsics, threads
from tilewright.schedule.annotate import Parallel, Unroll, Vectorize
from tilewright.schedule.cache_read import CacheRead
from tilewright.schedule.cache_write import CacheWrite
from tilewright.schedule.compute_at import ComputeAt
from tilewright.schedule.fuse import Fuse
from tilewright.schedule.fuse_at import FuseAt
from tilewright.schedule.inline import Inline
from tilewright.schedule.pack import Pack
from tilewright.schedule.pad import Pad
from tilewright.schedule.places import named, places
from tilewright.schedule.prefetch import Prefetch
from tilewright.schedule.reorder import Reorder
from tilewright.schedule.rfactor import Rfactor
from tilewright.schedule.split import Split
from tilewright.schedule.strassen import Strassen
from tilewright.schedule.tensorize import Tensorize
from tilewright.schedule.winograd import Winograd

PRIMITIVES = {
    kind.__name__: kind
    for kind in (
        Split, Reorder, Fuse, Parallel, Vectorize, Unroll, CacheRead, CacheWrite, Pack, Pad, Inline,
        ComputeAt, FuseAt, Prefetch, Winograd, Strassen, Tensorize, Rfactor,
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
    before: Schedule | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.loops is None:  # pyright: ignore[reportUnnecessaryComparison]
            _check_output(self.output)
            made = Schedule(self.output, (), lower(self.output))
            for step in self.steps:
                made = made.apply(step)
            object.__setattr__(self, "loops", made.loops)
            object.__setattr__(self, "before", made.before)

    def apply(self, step: Step) -> Schedule:
        """Apply a step, a value such as `Split("y", (64, 8))`; the methods below make them.

        It is refused if a parallel loop or an intrinsic would no longer be one after it.
        """
        step = _checked(step, self.loops)
        made = step.apply(self.loops)
        reason = threads.unshared(made, self.loops) or intrinsics.broken(made, self.loops)
        if reason:
            find.refuse(self.loops, _asked(step), reason)
        return Schedule(self.output, (*self.steps, step), made, self)

    def extent(self, loop: str) -> Extent:
        """Return how often a loop runs: an integer, or an array over the population."""
        if not isinstance(loop, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            find.refuse(self.loops, f"ask for the extent of {loop!r:.60}", "name a loop.")
        return find.loop(self.loops, loop, f"ask for the extent of {loop!r}").extent

    def split(self, loop: str, factors: Sequence[Extent]) -> Schedule:
        """Split a loop into several, outermost first, as by (64, 8); see `Split`."""
        if isinstance(factors, str) or not isinstance(factors, Sequence | np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance]
            find.refuse(
                self.loops,
                f"split {loop!r} by {factors!r}",
                "give the extents of all parts, outermost first, as in split('y', (64, 8)).",
            )
        return self.apply(Split(loop, tuple(factors)))

    def pad(self, loop: str, multiple: int) -> Schedule:
        """Run a loop to the next multiple, so that later splits divide it; see `Pad`."""
        return self.apply(Pad(loop, multiple))

    def reorder(self, *loops: str) -> Schedule:
        """Put loops into the given order, outermost first; see `Reorder`."""
        return self.apply(Reorder(loops))

    def fuse(self, outer: str, inner: str) -> Schedule:
        """Make two loops one over all their pairs; see `Fuse`."""
        return self.apply(Fuse(outer, inner))

    def parallel(self, loop: str) -> Schedule:
        """Share the rounds of a loop among threads; see `Parallel`."""
        return self.apply(Parallel(loop))

    def vectorize(self, loop: str) -> Schedule:
        """Run the rounds of a loop at once, in vector registers; see `Vectorize`."""
        return self.apply(Vectorize(loop))

    def tensorize(self, loop: str, intrinsic: str) -> Schedule:
        """Run a vector loop and the reduction in it by an instruction; see `Tensorize`."""
        return self.apply(Tensorize(loop, intrinsic))

    def unroll(self, loop: str) -> Schedule:
        """Write the rounds of a loop out one by one; see `Unroll`."""
        return self.apply(Unroll(loop))

    def cache_read(self, tensor: str, loop: str) -> Schedule:
        """Copy what each round of a loop reads of a tensor to a local buffer; see `CacheRead`."""
        return self.apply(CacheRead(tensor, loop))

    def cache_write(self, stage: str, loop: str) -> Schedule:
        """Compute a stage into a local tile, copied out when complete; see `CacheWrite`."""
        return self.apply(CacheWrite(stage, loop))

    def pack(self, tensor: str) -> Schedule:
        """Lay an operand out in the order in which the loops read it; see `Pack`."""
        return self.apply(Pack(tensor))

    def prefetch(self, tensor: str, distance: int) -> Schedule:
        """Ask the cache for what lies `distance` bytes further on; see `Prefetch`."""
        return self.apply(Prefetch(tensor, distance))

    def inline(self, stage: str) -> Schedule:
        """Compute a stage where it is used, and store it nowhere; see `Inline`."""
        return self.apply(Inline(stage))

    def compute_at(self, stage: str, loop: str) -> Schedule:
        """Compute, inside a loop, just what one round needs of a stage; see `ComputeAt`."""
        return self.apply(ComputeAt(stage, loop))

    def fuse_at(self, stage: str, loop: str) -> Schedule:
        """Move an elementwise stage to the tiles of what it reads; see `FuseAt`."""
        return self.apply(FuseAt(stage, loop))

    def rfactor(self, stage: str, loop: str) -> Schedule:
        """Keep a result for each round of a reduce loop, and reduce these after; see `Rfactor`."""
        return self.apply(Rfactor(stage, loop))

    def winograd(self, stage: str, tile: int, taps: int = 3) -> Schedule:
        """Compute a convolution by Winograd's method, in tiles of outputs; see `Winograd`."""
        return self.apply(Winograd(stage, tile, taps))

    def strassen(self, stage: str, levels: int = 1) -> Schedule:
        """Compute a product of matrices by Strassen's algorithm; see `Strassen`."""
        return self.apply(Strassen(stage, levels))

    @property
    def error(self) -> float:
        """What its algorithms add to the error of rounding, as a share of the largest result."""
        return sum(getattr(step, "error", 0.0) for step in self.steps)

    def to_json(self) -> list[dict[str, Any]]:
        """Return the steps as plain values, from which `from_json` makes an equal schedule.

        With each step are the `places` of what it names, by which it is found under other names.
        """
        entries: list[dict[str, Any]] = []
        made: Schedule = self
        while made.before is not None:
            arguments = dict(_fields(made.steps[-1]))
            plain = {name: _plain(value) for name, value in arguments.items()}
            at = places(made.before.loops, arguments)
            entries.append({"step": type(made.steps[-1]).__name__, **plain, "places": at})
            made = made.before
        entries.reverse()
        return entries

    @staticmethod
    def from_json(output: Tensor, steps: Iterable[Mapping[str, Any]]) -> Schedule:
        """Apply recorded steps to an expression; raise ScheduleError where they do not fit.

        The expression may be called otherwise than the one they were recorded for. Steps without
        `places` are applied by name.
        """
        made = Schedule(output)
        if not isinstance(steps, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ScheduleError(
                f"cannot apply {steps!r:.60} ({type(steps).__name__}): give the steps that "
                "schedule.to_json() returned."
            )
        for entry in steps:
            made = made.apply(_step(entry, made.loops))
        return made


def _check_output(output: Any) -> None:
    if not isinstance(output, Tensor):
        raise ScheduleError(
            f"cannot schedule {output!r} ({type(output).__name__}): give an expression made by "
            "compute(...), or that of an operator, operator.expression()."
        )
    if output.stage is None:
        raise ScheduleError(
            f"cannot schedule {output.name!r}: it is an input, and there is nothing to compute; "
            "give what compute(...) makes of it."
        )


def _checked(step: Step, nest: Nest) -> Step:
    """Return a step with NumPy's integers as Python's; refuse arguments of another type."""
    if not is_dataclass(step) or isinstance(step, type):
        find.refuse(
            nest, f"apply {step!r:.60}", "give a step, a value such as Split('y', (64, 8))."
        )
    changed: dict[str, Any] = {}
    for name, is_name in _arguments(type(step)).items():
        value = getattr(step, name)
        parts = value if isinstance(value, tuple) else (value,)
        if is_name:
            wrong = [part for part in parts if not isinstance(part, str)]
            wanted = "a name, as in parallel('y') or reorder('y', 'x')"
        else:
            wrong = [part for part in parts if not _is_whole(part)]
            wanted = "an integer, as in split('y', (64, 8))"
        if wrong:
            find.refuse(nest, _asked(step), f"{wrong[0]!r} is not {wanted}.")
        if not is_name:
            made = tuple(_extent(part) for part in parts)
            changed[name] = made if isinstance(value, tuple) else made[0]
    return replace(step, **changed) if changed else step  # type: ignore[type-var]


@lru_cache(maxsize=64)
def _arguments(kind: type[Step]) -> dict[str, bool]:
    """Return the arguments of a primitive, and whether each is a name or names."""
    return {field.name: "str" in str(field.type) for field in fields(kind)}  # type: ignore[arg-type]


def _is_whole(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "iu"
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _asked(step: Step) -> str:
    """Say what a step asks for, as in `reorder 'x', 'y'`."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(step).__name__).lower()
    values: list[Any] = []
    for _, value in _fields(step):
        values += value if isinstance(value, tuple) else [value]
    return f"{words} {', '.join(map(repr, values))}"


def _step(entry: Mapping[str, Any], nest: Nest) -> Step:
    if not isinstance(entry, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ScheduleError(f"cannot apply recorded step {entry!r}: it is no mapping.")
    arguments: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()
    }
    kind = PRIMITIVES.get(str(arguments.pop("step", None)))
    if kind is None:
        raise ScheduleError(
            f"cannot apply recorded step {dict(entry)}: no such primitive; "
            f"there are {', '.join(PRIMITIVES)}."
        )
    at: Any = arguments.pop("places", {})
    try:
        return kind(**(arguments | named(nest, at)))
    except (TypeError, AttributeError) as error:
        raise ScheduleError(f"cannot apply recorded step {dict(entry)}: {error}.") from error


def _fields(step: Step) -> list[tuple[str, Any]]:
    return [(name, getattr(step, name)) for name in type(step).__dataclass_fields__]  # type: ignore[attr-defined]


def _extent(value: Any) -> Extent:
    return value.astype(np.int64) if isinstance(value, np.ndarray) and value.ndim else int(value)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return int(value) if isinstance(value, np.integer) else value
