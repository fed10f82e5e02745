"""A task: an expression, the machine it is to run on, and the space of ways to compute it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from tilewright import dtypes
from tilewright.errors import ArgumentError, ScheduleError
from tilewright.expr.tensor import Tensor
from tilewright.measure.answer import describe
from tilewright.measure.build import Request
from tilewright.records.store import Records
from tilewright.records.trial import Trial
from tilewright.runtime.threads import checked
from tilewright.schedule.schedule import Schedule
from tilewright.space.config import Config
from tilewright.space.derive import derive
from tilewright.space.space import Space
from tilewright.target import Target, target_of
from tilewright.tuning.balance import exchanged, imbalance
from tilewright.tuning.template import Program, Template

SHARED = 8  # trials on one thread among which several threads choose
LAYERS = 64  # the fastest trials on several threads among which those of a network choose
NEAR = 1.06  # times the fastest of them: what is slower is not chosen, whatever it leaves alone
EXCHANGE = 40e9  # bytes a second, of what threads read that others have written


class Operator(Protocol):
    """A value that says what it computes.

    One with a method `space`, a template, offers its own ways to do so; they are derived otherwise.
    """

    @property
    def name(self) -> str: ...

    def expression(self) -> Tensor: ...


@dataclass(frozen=True, eq=False)
class Task:
    """Work to be tuned: an expression (or an operator) on a target.

    Without a `template`, a function of (schedule, knob) or (schedule, knob, target), the operator's
    own is used, or a space derived from the expression. `target` may be given by name.
    `weight` is how often the work is done; `threads` how many a measurement uses;
    `cold` whether constants are read from memory then, as they are inside of a network.
    """

    work: Tensor | Operator
    target: Target = None  # type: ignore[assignment]
    template: Template | None = None
    weight: int = 1
    threads: int = 1
    cold: bool = False

    def __post_init__(self) -> None:
        _check_work(self.work)
        object.__setattr__(self, "target", target_of(self.target))
        weight: Any = self.weight
        whole = isinstance(weight, int | np.integer) and not isinstance(weight, bool)
        if not whole or weight < 1:
            raise ArgumentError(
                f"Task(weight={weight!r}): weight is how often the work is done, a whole number of "
                "at least 1."
            )
        object.__setattr__(self, "threads", checked(self.threads, 1))

    def __repr__(self) -> str:
        return f"Task({self.name} on {self.where})"

    @cached_property
    def expression(self) -> Tensor:
        if isinstance(self.work, Tensor):  # without the template, which need not be picklable
            return replace(self.work, template=None)
        return self.work.expression()

    @cached_property
    def name(self) -> str:
        if not isinstance(self.work, Tensor):
            return self.work.name
        if self.work.title:
            return self.work.title
        shape = "x".join(map(str, self.work.shape)) or "scalar"
        of = "" if self.work.dtype == "float32" else f" of {self.work.dtype}"
        return f"{self.work.name} {shape}{of}"

    @cached_property
    def key(self) -> str:
        """What equal work has in common: the digest of its canonical expression."""
        return self.expression.digest

    @property
    def where(self) -> str:
        """The target's key, with what else a measured time depends on."""
        threads = f"/{self.threads}t" if self.threads > 1 else ""
        return self.target.key + threads + "/cold" * self.cold

    @property
    def wheres(self) -> tuple[str, ...]:
        """Where trials say something about this task: just so first, then on one thread, warm."""
        alone = replace(self, threads=1).where
        return tuple(dict.fromkeys((self.where, alone, self.target.key)))

    @property
    def flops(self) -> int:
        return self.expression.flops

    @property
    def nbytes(self) -> int:
        """How many bytes the inputs and the result take up."""
        tensors = (*self.expression.inputs, self.expression)
        return sum(math.prod(t.shape) * dtypes.nbytes(t.dtype) for t in tensors)

    @cached_property
    def space(self) -> Space[Schedule]:
        """The space of schedules, declared by running the template; candidates may raise."""
        own = self.work.template if isinstance(self.work, Tensor) else None
        template = self.template or own or getattr(self.work, "space", None) or derive
        return Space.declare(Program(template, self._start, self.target, self.name))

    @cached_property
    def _start(self) -> Schedule:
        return Schedule(self.expression)

    def schedule(self, config: Config) -> Schedule:
        """Return the schedule of one configuration."""
        return self.space.instantiate(config)

    def request(self, schedule: Schedule, best: float | None = None) -> Request:
        """Return what asks a measurer to build, check and time a schedule; see `Request`."""
        return Request(
            self.expression, schedule.loops, self.target, self.threads, best, self.cold,
            schedule.error,
        )  # fmt: skip

    def fallback(self) -> Schedule:
        """Return a schedule that needs no measurement, the one that looks best by its loads."""
        from tilewright.tuning.fallback import promising

        config = self.space.config(promising(self.space))
        try:
            return self.schedule(config)
        except Exception as error:
            raise ScheduleError(
                f"cannot schedule {self.name} untuned: its template raises on every candidate that "
                f"was looked at; mend it, or state with require() what it cannot do. "
                f"For {config!r} it says:\n{describe(error)}"
            ) from error

    def best(self, records: Records | None) -> Schedule:
        """Return the fastest recorded schedule, or the fallback if nothing was measured."""
        if not isinstance(records, Records | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                f"cannot look for the best of {self.name} in {records!r:.60} "
                f"({type(records).__name__}): give Records, such as Records('tuning.db')."
            )
        trial = None if records is None else self.best_trial(records)
        return self.fallback() if trial is None else self.recorded(trial)

    def best_trial(self, records: Records) -> Trial | None:
        """Return the fastest trial whose steps still make a schedule, or None.

        Trials that were taken just so count first, then those on one thread, then warm ones. Of
        trials on one thread, several threads take one of the fastest that they can share evenly. In
        a network, what they read of each other's counts, too: a trial reads what lies in the cache
        of whoever reads it, and a layer what the one before has written.
        """
        for where in self.wheres:
            own = where == self.where
            if self.threads > 1 and own and self.cold:
                found = self._of_layers(records)
            else:
                count = SHARED if self.threads > 1 and not own else 1
                usable = records.fastest(self.key, where, count, self.can_use)
                found = min(usable, key=self._on_threads if count > 1 else _seconds, default=None)
            if found:
                return found
        return None

    def _of_layers(self, records: Records) -> Trial | None:
        """Return what takes the least time with what threads take from each other, or None."""
        best, least, near = None, math.inf, math.inf
        for trial in records.fastest(self.key, self.where, LAYERS):
            seconds = _seconds(trial)
            if seconds >= min(least, near):
                break
            schedule = self.usable(trial)
            if schedule is not None:
                near = min(near, NEAR * seconds)
                seconds += exchanged(schedule.loops, self.threads) / EXCHANGE
                if seconds < least:
                    best, least = trial, seconds
        return best

    @property
    def tolerance(self) -> float:
        """The error of an algorithm that is accepted: the operator's, else what a template does."""
        own = isinstance(self.work, Tensor) and self.work.template is not None
        accepted = math.inf if own or self.template is not None else 0.0
        return float(getattr(self.work, "tolerance", accepted))

    def _on_threads(self, trial: Trial) -> float:
        """Guess the seconds on this task's threads, from those on one."""
        return _seconds(trial) * imbalance(self.recorded(trial).loops, self.threads)

    def recorded(self, trial: Trial) -> Schedule:
        """Return the schedule of a trial from its steps; no template is needed."""
        return Schedule.from_json(self.expression, [dict(step) for step in trial.steps])

    def can_use(self, trial: Trial) -> bool:
        """Whether the steps of a trial still make a schedule, within the operator's tolerance."""
        return self.usable(trial) is not None

    def usable(self, trial: Trial) -> Schedule | None:
        """Return the schedule of a trial if `can_use`, else None."""
        try:
            schedule = self.recorded(trial)
        except ScheduleError:
            return None
        return schedule if schedule.error <= self.tolerance else None


def _seconds(trial: Trial) -> float:
    return trial.seconds or 0.0


def _check_work(work: object) -> None:
    if isinstance(work, Tensor):
        if work.stage is None:
            raise ArgumentError(
                f"cannot make a task of {work.name!r}: it is an input, and there is nothing to "
                "compute; give what compute(...) makes of it."
            )
    elif not (callable(getattr(work, "expression", None)) and hasattr(work, "name")):
        instead = {
            "Schedule": "build(schedule) compiles it; to tune its expression, give schedule.output",
            "Model": "tune(model, ...) and model.tasks() take networks",
        }.get(type(work).__name__, "give an expression made by compute(...), or an operator")
        raise ArgumentError(f"cannot make a task of {type(work).__name__} {work!r:.80}: {instead}.")
