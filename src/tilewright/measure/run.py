"""The runner's side of a measurement: the result is checked, then the time is taken.

Inputs are random; every buffer lies between guard pages, so that a candidate which leaves its
buffers crashes; outputs and scratch memory are poisoned, so that what is not written shows.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from tilewright.expr.rounding import rough
from tilewright.expr.tensor import Tensor
from tilewright.loops.interpret import laid_out, made
from tilewright.loops.nodes import Buffer
from tilewright.measure.build import Built
from tilewright.measure.guard import GuardedArena, poison
from tilewright.measure.sample import indexed, sample
from tilewright.records.trial import Failed, Measured
from tilewright.runtime.load import Loaded, Loader, pointers
from tilewright.runtime.memory import aligned

COLD_BYTES = 24 << 20  # what copies of the constants take together, to outgrow the caches
MIN_COLD = 32 << 10  # smaller constants are fetched in no time
MAX_COPIES = 64
SLOW = 3.0  # a candidate this many times slower than the best is timed only once
WARM_SECONDS = 0.02  # but again if that took less: it found its data cold, or was interrupted
TRIES = 3  # for a time in which nothing interrupts the process
LONG = 0.1  # seconds of a sample in which an interruption does not count, or is bound to happen

Array = np.ndarray[Any, Any]
Table: TypeAlias = "ctypes.Array[ctypes.c_void_p]"


@dataclass(frozen=True)
class Clock:
    """How long to time: `repeats` samples of at least `sample` seconds each."""

    repeats: int = 5
    sample: float = 1e-3


@dataclass
class Runner:
    """Times artifacts; keeps the inputs and the reference of the task at hand."""

    clock: Clock = field(default_factory=Clock)
    seed: int = 0
    _loader: Loader = field(default_factory=Loader)
    _problem: Problem | None = None

    def __call__(self, built: Built) -> Measured | Failed:
        called = _called(built.expression)
        if self._problem is None or self._problem.called != called:
            self._problem = Problem.make(built.expression, called, self.seed)
        problem, self._problem = self._problem, None  # kept only if this candidate spares it
        loaded = self._loader.load(built.artifact)
        try:
            arena = GuardedArena()
            places, given = problem.place(built, arena)
            table = pointers([places[b.name].ctypes.data for b in built.artifact.parameters])
            loaded.run(table, built.threads)
            error, wrong = problem.compare(places[built.expression.name], built.error)
            if problem.changed() or _differ(places, given):
                return Failed("verify", "wrong", "it wrote to its inputs, or beside them.")
            self._problem = problem
            if arena.damaged():
                return Failed("verify", "wrong", "it wrote outside of its buffers.")
            if wrong:
                return Failed("verify", "wrong", wrong)
            tables = _copies(table, built, places) if built.cold else [table]
            seconds, interrupted = self._time(loaded, tables, built)
            return Measured(seconds, error, interrupted)
        finally:
            loaded.close()

    def _time(
        self, loaded: Loaded, tables: list[Table], built: Built
    ) -> tuple[tuple[float, ...], int]:
        """Time runs that take the tables in turn; a slow candidate is timed once.

        A sample during which another process had the core is taken again; the second result is of
        how many that was so.
        """
        turn = itertools.cycle(tables)

        def seconds(count: int) -> float:
            begin = time.perf_counter_ns()
            if len(tables) == 1:
                loaded.repeat(tables[0], built.threads, count)
            else:
                for table in itertools.islice(turn, count):
                    loaded.run(table, built.threads)
            return max(1, time.perf_counter_ns() - begin) / count * 1e-9

        before = _interruptions()
        once, limit = seconds(1), SLOW * (built.best or math.inf)
        for _ in range(TRIES - 1):
            if limit < once < WARM_SECONDS:
                once = min(once, seconds(1))
        if once > limit:
            return (once,), int(once <= LONG and _interruptions() > before)
        count = max(1, math.ceil(self.clock.sample / once))
        taken = [uninterrupted(lambda: seconds(count)) for _ in range(self.clock.repeats)]
        return tuple(second for second, _ in taken), sum(again for _, again in taken)


def uninterrupted(sample: Callable[[], float]) -> tuple[float, bool]:
    """Return the first sample that is long or that nothing interrupted, or the least of some.

    Also return whether it is not the first of all.
    """
    taken: list[float] = []
    for _ in range(TRIES):
        before, begin = _interruptions(), time.perf_counter()
        taken.append(sample())
        if _interruptions() == before or time.perf_counter() - begin > LONG:
            return taken[-1], len(taken) > 1
    return min(taken), True


def _interruptions() -> int:
    """Return how often a thread of this process had to leave its core to another process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def _copies(table: Table, built: Built, places: dict[str, Array]) -> list[Table]:
    """Return tables that each hold another copy of the constants, so that none is still cached.

    What the copies are is added to `places`, which keeps them alive.
    """
    parameters = built.artifact.parameters
    constants = [i for i, b in enumerate(parameters) if b.scope == "constant"]
    nbytes = sum(places[parameters[i].name].nbytes for i in constants)
    tables = [table]
    if nbytes < MIN_COLD:
        return tables
    for copy in range(1, min(MAX_COPIES, math.ceil(COLD_BYTES / nbytes))):
        other = pointers(list(table))
        for i in constants:
            name = parameters[i].name
            places[f"{name}#{copy}"] = aligned(places[name].copy())
            other[i] = places[f"{name}#{copy}"].ctypes.data
        tables.append(other)
    return tables


def _called(expression: Tensor) -> str:
    """Return the digest of an expression with the names that its arrays are found by."""
    names = [t.name for t in (*expression.inputs, expression)]
    return " ".join([expression.digest, *map(repr, names)])


def _differ(places: dict[str, Array], given: dict[str, Array]) -> bool:
    """Return whether an array is, bit for bit, no longer what was given."""
    bits = ((places[name], array) for name, array in given.items())
    return not all(np.array_equal(_bits(now), _bits(before)) for now, before in bits)


def _bits(array: Array) -> Array:
    return array.view(f"u{array.dtype.itemsize}")


@dataclass
class Problem:
    """Random inputs of an expression, and what the result must be."""

    called: str
    arena: GuardedArena
    inputs: dict[str, Array]
    copies: dict[str, Array]
    reference: Array
    tolerance: Array  # what rounding may add to each element, inf where anything goes
    magnitude: float  # of the largest result that is finite
    made: dict[str, Array] = field(default_factory=dict[str, Array])  # by digest

    @staticmethod
    def make(expression: Tensor, called: str, seed: int) -> Problem:
        rng = np.random.default_rng(seed)
        arena = GuardedArena()
        inputs: dict[str, Array] = {}
        extents = indexed(expression)
        for t in expression.inputs:
            place = arena.allocate(t.shape, t.dtype)
            place[...] = sample(rng, t, extents.get(t.name))
            inputs[t.name] = place
        reference, tolerance = rough(expression, inputs)
        copies = {name: array.copy() for name, array in inputs.items()}
        return Problem(called, arena, inputs, copies, reference, tolerance, magnitude(reference))

    def place(self, built: Built, arena: GuardedArena) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return an array for each parameter, and what must be left in those packed for this one.

        Where the code will write, arrays are fresh and poisoned.
        """
        places: dict[str, Array] = {}
        given: dict[str, Array] = {}
        for buffer in built.artifact.parameters:
            shape = [int(n) for n in buffer.shape]
            if buffer.source is not None:
                given[buffer.name] = laid_out(buffer, self._made(buffer))
                places[buffer.name] = arena.allocate(shape, buffer.dtype)
                places[buffer.name][...] = given[buffer.name]
            elif buffer.name in self.inputs:
                places[buffer.name] = self.inputs[buffer.name]
            else:
                places[buffer.name] = arena.allocate(shape, buffer.dtype)
                poison(places[buffer.name])
        return places, given

    def _made(self, buffer: Buffer) -> Array:
        """Return what a constant is made of; the same for most candidates, so it is kept."""
        assert buffer.source
        if buffer.made is None:
            return self.inputs[buffer.source]
        key = buffer.made.digest
        if key not in self.made:
            self.made[key] = made(buffer, self.inputs[buffer.source])
        return self.made[key]

    def compare(self, result: Array, share: float = 0.0) -> tuple[float, str]:
        """Return the greatest difference from the reference, and what is wrong: "" if nothing.

        A `share` of the largest result may be added to what rounding explains. Equal infinities are
        equal, and where the reference has no value none is wanted.
        """
        allowed = self.tolerance + share * self.magnitude
        same = (result == self.reference) | (np.isnan(result) & np.isnan(self.reference))
        with np.errstate(invalid="ignore"):
            difference = np.abs(result.astype(np.float64) - self.reference.astype(np.float64))
            difference = np.maximum(difference, np.finfo(np.float64).tiny)  # of large integers, too
            difference = np.where(same | np.isinf(allowed), 0.0, difference)
        difference = np.where(np.isfinite(difference), difference, np.inf)
        greatest = float(np.max(difference, initial=0.0))
        over = difference - np.where(np.isinf(allowed), 0.0, allowed)
        if not (over > 0).any():
            return greatest, ""
        worst = np.unravel_index(int(np.argmax(over)), over.shape)
        return greatest, (
            f"the result differs from the reference by {difference[worst]:.3g} at "
            f"[{', '.join(map(str, worst))}]; allowed are {allowed[worst]:.3g}."
        )

    def changed(self) -> bool:
        """Return whether an input is no longer what it was, or what lies beside one."""
        return self.arena.damaged() or _differ(self.inputs, self.copies)


def magnitude(reference: Array) -> float:
    """Return the largest absolute value that is finite."""
    finite = reference[np.isfinite(reference)]
    return float(np.max(np.abs(finite.astype(np.float64)), initial=0.0))


def start(repeats: int = 5, sample: float = 1e-3) -> Callable[[Built], Measured | Failed]:
    """Return the function that a runner process answers with."""
    return Runner(Clock(repeats, sample))
