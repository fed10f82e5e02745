"""NumPy, the interpreted nest and the compiled kernel against each other, on random schedules.

    python -m tests.differential steps 0 5000
    python -m tests.differential tiled 0 5000 x86-64-v3
    python -m tests.differential operators 0 2000
    python -m tests.differential elements 0 2000

checks the programs of 5000 seeds and prints those that differ; an operator's program is a random
candidate of its space, compared with what NumPy alone computes; elements are single operations, of
every type and on numbers at the ends of their ranges. It is run in a process of its own,
since a kernel that leaves its arrays meets a guard page.
"""

from __future__ import annotations

import random
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from tests import elements
from tests.ops import by_numpy, draws

import tilewright as tw
from tilewright import Schedule, Target, dtypes
from tilewright.expr.interpret import evaluate
from tilewright.expr.rounding import rough
from tilewright.loops.interpret import interpret, packed
from tilewright.measure.guard import GuardedArena, poison
from tilewright.testing import programs

Array = np.ndarray[Any, Any]


def make(mode: str, seed: int) -> Schedule:
    """Return the schedule of a seed."""
    rng = random.Random(seed)
    output = programs.program(rng.choice)
    if mode == "tiled":
        return programs.tiled(rng.choice, output)
    return programs.schedule(rng.choice, output, steps=rng.choice((3, 6, 10, 16)))


def agree(got: Array, wanted: Array, dtype: str) -> bool:
    """Compare with a tolerance for sums in another order, relative to the largest element."""
    if not dtypes.is_float(dtype):
        return np.array_equal(got, wanted)
    share = max(1e-5, dtypes.finfo(dtype)[0] / 2)
    return got.shape == wanted.shape and near(got, wanted, share)


def near(got: Array, wanted: Array, share: float) -> bool:
    """Whether all elements are equal, or differ by at most a share of the largest finite one."""
    sizes = np.abs(wanted[np.isfinite(wanted)])
    scale = max(1.0, float(np.max(sizes, initial=0)))
    with np.errstate(invalid="ignore"):
        return bool(np.all((got == wanted) | (np.abs(got - wanted) <= share * scale)))


def check_interpreted(schedule: Schedule, seed: int = 0) -> None:
    output = schedule.output
    given = programs.inputs(output, seed)
    wanted = evaluate(output, given)[output.name]
    got = interpret(schedule.loops, given)[output.name]
    assert agree(got, wanted, output.dtype), f"interpreted\n{got}\nwanted\n{wanted}"


def check_compiled(schedule: Schedule, seed: int = 0, target: Target | None = None) -> None:
    """Run the kernel on arrays between guard pages, with one thread and with two."""
    output = schedule.output
    given = programs.inputs(output, seed)
    wanted = evaluate(output, given)[output.name]
    run_compiled(schedule, given, target, lambda got: agree(got, wanted, output.dtype))


def check_elements(seed: int, target: Target | None = None) -> None:
    """Compare what a random operation on elements is by NumPy, interpreted and compiled."""
    pick = random.Random(seed).choice
    output = elements.program(pick)
    schedule = programs.schedule(pick, output, steps=pick((0, 3, 6)))
    given = elements.inputs(output, seed)
    with np.errstate(all="ignore"):
        defined = evaluate(output, given)[output.name]
        interpreted = interpret(schedule.loops, given)[output.name]
    wanted, error = rough(output, given)

    def right(got: Array) -> bool:
        with np.errstate(all="ignore"):
            got = got.astype(np.float64) if dtypes.is_float(output.dtype) else got
            off = np.abs(np.subtract(got, wanted, dtype=np.float64)) <= error
        same = (got == wanted) | ((got != got) & (wanted != wanted))
        return bool(np.all(same | off | np.isinf(error)))

    close = np.allclose(interpreted, defined, rtol=1e-9, atol=0, equal_nan=True)
    assert close or right(interpreted), f"{output}\n{interpreted}\n{wanted}\n{given}"
    try:
        run_compiled(schedule, given, target, right)
    except Exception as failure:
        raise AssertionError(f"{output}\n{wanted}\n{given}\n{failure}") from failure


def check_operator(seed: int, target: Target | None = None) -> None:
    """Compare a random candidate of a random operator with what NumPy alone computes."""
    rng = np.random.default_rng(seed)
    operator = draws.operator(random.Random(seed).choice)
    task = tw.Task(operator) if target is None else tw.Task(operator, target)
    rows = task.space.sample(rng, 1)
    assert len(rows), f"no candidate of {operator}"
    config = task.space.config(rows[0])
    schedule = task.schedule(config)
    given = by_numpy.given(operator, rng)

    def right(got: Array) -> bool:
        by_numpy.check(operator, got, given, schedule.error)
        return True

    try:
        run_compiled(schedule, given, target, right)
    except Exception as error:
        raise AssertionError(f"{operator}\n{config}\n{schedule.loops}\n{error}") from error


def run_compiled(
    schedule: Schedule,
    given: Mapping[str, Array],
    target: Target | None,
    right: Callable[[Array], bool],
) -> None:
    """Run the kernel between guard pages, on one thread and on two; raise where it is not right."""
    output = schedule.output
    kernel = tw.build(schedule, target, threads=1)
    for end in ("end", "start"):
        arena = GuardedArena()
        result = _guarded(arena, np.empty(output.shape, dtypes.numpy(output.dtype)), end)
        arrays = {b.name: _guarded(arena, given[b.name], end) for b in kernel.inputs}
        guard_scratch(
            kernel, arrays, lambda array, arena=arena, end=end: _guarded(arena, array, end)
        )
        for threads in (1, 2):
            poison(result)
            kernel(*arrays.values(), out=result, threads=threads)
            assert right(result), f"{threads} threads: {result}"
            assert not arena.damaged(), "written beside an array"


def guard_scratch(
    kernel: tw.Kernel, arrays: dict[str, Array], guarded: Callable[[Array], Array]
) -> None:
    """Put workspace, poisoned, and packed constants between guard pages as well."""
    for buffer in kernel._artifact.parameters:
        if buffer.scope == "workspace":
            scratch = guarded(np.empty([int(n) for n in buffer.shape], dtypes.numpy(buffer.dtype)))
            poison(scratch)
            kernel._scratch[buffer.name] = scratch
        if buffer.source:
            source = arrays[buffer.source]
            kernel._packed[buffer.name] = (source, guarded(packed(buffer, source)))


def _guarded(arena: GuardedArena, array: Array, at: Any) -> Array:
    copy = arena.allocate(array.shape, array.dtype, align=array.dtype.itemsize, at=at)
    copy[...] = array
    return copy


def main(mode: str, first: str, last: str, target: str | None = None) -> int:
    """Check a range of seeds; return how many fail. A crash leaves its seed as the last line."""
    failed = 0
    for seed in range(int(first), int(last)):
        print(f"seed {seed}", flush=True)
        try:
            on = Target(target) if target else None
            if mode in ("operators", "elements"):
                (check_operator if mode == "operators" else check_elements)(seed, on)
                continue
            schedule = make(mode, seed)
            check_interpreted(schedule, seed)
            check_compiled(schedule, seed, on)
        except Exception:
            failed += 1
            print(f"FAILED {mode} {seed}\n{traceback.format_exc()}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(min(100, main(*sys.argv[1:])))
