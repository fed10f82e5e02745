"""Random programs and schedules, to test whatever compiles them.

Every choice is made by a `Pick`: give `rng.choice` of a seeded generator to run thousands, or a
hypothesis `draw` of `sampled_from` to have failures shrunk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.errors import ScheduleError
from tilewright.loops.nodes import Nest, walk
from tilewright.schedule.schedule import Schedule
from tilewright.testing.stages import STAGES
from tilewright.testing.steps import step

T = TypeVar("T")
EXTENTS = (1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 17, 20)
MAX_POINTS = 3000


class Pick(Protocol):
    """Chooses one of the options; the first is the simplest."""

    def __call__(self, options: Sequence[T], /) -> T: ...


def program(pick: Pick, *, max_points: int = MAX_POINTS) -> te.Tensor:
    """Return an expression of one to three stages that computes at most `max_points` points."""
    dtype = pick(("float32", "float32", "int32", "float32", "float64", "int64"))
    shape = tuple(pick(EXTENTS) for _ in range(pick((1, 2, 3, 2, 3, 0))))
    while math.prod(shape) > max_points // 4:
        shape = shape[1:]
    known: list[te.Tensor] = [te.tensor("A", shape, dtype)]
    for number in range(pick((1, 2, 3, 2, 3))):
        made = next(_stages(pick, f"T{number}", known, max_points), None)
        known += [made] if made else []
    if known[-1].stage is None:
        a = known[0]
        known.append(te.compute("T", a.shape, lambda *i: a[i] + 1))
    return known[-1]


def _stages(pick: Pick, name: str, known: list[te.Tensor], max_points: int) -> Iterator[te.Tensor]:
    for _ in range(5):
        made = pick(STAGES)(pick, name, known)
        if made is not None and points(made) <= max_points:
            yield made


def points(t: te.Tensor) -> int:
    """Return how many points the loops of one stage visit."""
    assert t.stage
    return math.prod(axis.extent for axis in (*t.stage.axes, *t.stage.reduce_axes))


def schedule(pick: Pick, output: te.Tensor, *, steps: int = 10) -> Schedule:
    """Return a schedule of at most `steps` random steps; those that are illegal are left out."""
    made = Schedule(output)
    for _ in range(steps):
        for _ in range(4):
            try:
                longer = step(pick, made)
            except ScheduleError:
                continue
            made = longer if rounds(longer.loops) <= 4 * MAX_POINTS else made
            break
    return made


def tiled(pick: Pick, output: te.Tensor) -> Schedule:
    """Return a schedule as operators write them: tiles in registers, the reduction inside.

    The factors are random, and so need not divide; steps that are illegal are left out.
    """
    made = Schedule(output)

    def attempt(method: str, *arguments: Any) -> bool:
        nonlocal made
        try:
            longer = getattr(made, method)(*arguments)
        except ScheduleError:
            return False
        fits = rounds(longer.loops) <= 8 * MAX_POINTS
        made = longer if fits else made
        return fits

    stages = [t for t in output.stages if t.stage]
    reducing = [t for t in stages if t.stage and t.stage.reduce_axes]
    main = pick(reducing or stages)
    for t in stages:
        if t is not main and pick((True, False, False)):
            attempt("inline", t.name)
    kept, reduced = _tile(pick, made, main.name, attempt)
    levels = [list[str](), list[str](), list[str]()]
    for parts in kept:
        for level, loop in zip(levels, parts, strict=False):
            level.append(loop)
    reduced = sorted(reduced, key=lambda _: pick((0, 1)))
    outer, middle, inner = (sorted(level, key=lambda _: pick((0, 1))) for level in levels)
    attempt("reorder", *outer, *middle, *reduced, *inner)
    for loop in outer[: pick((1, 0, 2, 3))]:
        attempt("parallel", loop)
    vector = pick(inner) if inner and pick((True, True, False)) else None
    for loop in (*inner, *reduced[-1:]):
        if loop == vector or pick((True, False)):
            attempt("vectorize" if loop == vector else "unroll", loop)
    for buffer in made.loops.buffers:
        if pick((False, True)):
            attempt("pack", buffer.name)
    place = pick([*outer, *middle]) if outer else None
    if place:
        for t in stages:
            if t is not main and pick((True, False)):
                _ = attempt("fuse_at", t.name, place) or attempt("compute_at", t.name, place)
        if pick((True, False)):
            attempt("cache_write", main.name, place)
    return made


def _tile(
    pick: Pick, s: Schedule, stage: str, attempt: Callable[..., bool]
) -> tuple[list[list[str]], list[str]]:
    """Split the loops round a stage; return the parts of those that are kept, and the others."""
    kept, reduced = list[list[str]](), list[str]()
    for outer, block in walk(s.loops.body):
        if block.stage != stage:
            continue
        for loop in outer:
            inner = [pick((1, 2, 3, 4, 8, 16, 7)) for _ in range(1 if loop.reduce else 2)]
            factors = (max(1, -(-int(loop.extent) // math.prod(inner))), *inner)
            parts = [loop.name]
            if pick((True, True, False)) and attempt("split", loop.name, factors):
                parts = [f"{loop.name}.{i}" for i in range(len(factors))]
            if loop.reduce:
                reduced.extend(parts)
            else:
                kept.append(parts)
    return kept, reduced


def rounds(nest: Nest) -> int:
    """Return how many stores a nest makes: guards and copies can make that much more work."""
    return sum(math.prod(int(loop.extent) for loop in outer) for outer, _ in walk(nest.body))


def inputs(output: te.Tensor, seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """Return an array for each input: small multiples of 1/4 (floats), or of 1 (integers)."""
    rng = np.random.default_rng(seed)
    return {
        t.name: (rng.integers(-4, 5, t.shape) / (4 if dtypes.is_float(t.dtype) else 1)).astype(
            dtypes.numpy(t.dtype)
        )
        for t in output.inputs
    }
