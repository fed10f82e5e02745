"""Which way to do each piece of a network's work, so that its constants fit into a budget.

Winograd's method and Strassen's keep more numbers than a layer has weights: 4 times as many for
tiles of 4 x 4, 16/9 for those of 2 x 2, 7/4. The records of a tuned network hold slower ways, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tilewright import dtypes
from tilewright.errors import ArgumentError
from tilewright.expr.parts import loads
from tilewright.loops.alone import alone
from tilewright.loops.nodes import Nest, product, walk
from tilewright.records.store import Records
from tilewright.records.trial import Choice, Trial
from tilewright.schedule.schedule import Schedule
from tilewright.schedule.strassen import Strassen
from tilewright.schedule.winograd import Winograd
from tilewright.tuning.task import Task

_ALGORITHMS = (Strassen.__name__, Winograd.__name__)
_MOST = 8  # ways of one task


@dataclass(frozen=True, eq=False)
class Way:
    """A schedule, with the bytes of its constants and the seconds of its runs in all the network.

    One that was not measured counts as if it took none: there is no other of its task. One that is
    done `alone` takes one thread of a network's.
    """

    schedule: Schedule
    nbytes: int
    seconds: float = 0.0
    tuned: bool = False
    alone: bool = False

    @property
    def loops(self) -> Nest:
        return alone(self.schedule.loops) if self.alone else self.schedule.loops


def way_of(task: Task, choice: Choice | None, held: Mapping[str, int]) -> Way:
    """Return what a choice means; without one, what is done untuned.

    `held` is how many different constants the network has for each tensor of the expression.
    """
    if choice is None:
        schedule = task.fallback()
        return Way(schedule, packed_bytes(schedule, held))
    schedule = task.recorded(choice.trial)
    seconds = (choice.trial.seconds or 0.0) * task.weight
    return Way(schedule, packed_bytes(schedule, held), seconds, tuned=True, alone=choice.alone)


def ways(task: Task, records: Records | None, held: Mapping[str, int]) -> list[Way]:
    """Return what may be done for a task, the usual choice first, one way for each algorithm."""
    best = None if records is None else task.best_trial(records)
    if records is None or best is None:
        return [way_of(task, None, held)]
    others = records.fastest(task.key, best.target, _MOST, _other(task, best))
    return [way_of(task, Choice(trial), held) for trial in (best, *others)]


def _other(task: Task, best: Trial) -> Callable[[Trial], bool]:
    """Return what accepts the first trial of each algorithm but that of the best one."""
    seen = {algorithm(best)}

    def accept(trial: Trial) -> bool:
        kind = algorithm(trial)
        if kind in seen or not task.can_use(trial):
            return False
        seen.add(kind)
        return True

    return accept


def algorithm(trial: Trial) -> tuple[str, ...]:
    """Return what a trial computes other than by the direct sum."""
    steps = [step for step in trial.steps if step["step"] in _ALGORITHMS]
    return tuple(
        str({name: value for name, value in step.items() if name != "places"}) for step in steps
    )


def packed_bytes(schedule: Schedule, held: Mapping[str, int]) -> int:
    """Return the bytes of a schedule's constants, as its loops read them."""
    nest = schedule.loops
    read = {load.buffer for _, block in walk(nest.body) for load in loads(block.value)}
    return sum(
        int(product(b.shape)) * dtypes.nbytes(b.dtype) * held.get(b.source or b.name, 0)
        for b in nest.parameters
        if b.name in read
    )


def fit(choices: Sequence[Sequence[Way]], budget: int | None) -> list[Way]:
    """Return one way of each, fast ones whose bytes in all are within the budget (None: the first).

    From the first of each on, what costs least time for the bytes that it saves is taken instead,
    until all fits. Raise ArgumentError if nothing does.
    """
    chosen = [of[0] for of in choices]
    while budget is not None and sum(way.nbytes for way in chosen) > budget:
        swaps = [
            ((way.seconds - now.seconds) / (now.nbytes - way.nbytes), i, way)
            for i, (now, of) in enumerate(zip(chosen, choices, strict=True))
            for way in of
            if way.nbytes < now.nbytes
        ]
        if not swaps:
            least = sum(way.nbytes for way in chosen)
            raise ArgumentError(
                f"cannot keep the weights in {budget} bytes: they take {least} at least with the "
                "schedules on record; give a greater weight_bytes, or tune for longer."
            )
        _, i, way = min(swaps, key=lambda swap: swap[:2])
        chosen[i] = way
    return chosen
