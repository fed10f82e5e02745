"""A task: an expression, the machine it is to run on, and the space of ways to compute it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from tilewright.errors import ScheduleError
from tilewright.expr.tensor import Tensor
from tilewright.records.store import Records
from tilewright.records.trial import Trial
from tilewright.schedule.schedule import Schedule
from tilewright.space.config import Config
from tilewright.space.derive import derive
from tilewright.space.knobs import Knobs
from tilewright.space.space import Space
from tilewright.target import Target, host

Template = Callable[[Schedule, Knobs, Target], Schedule]


class Operator(Protocol):
    """A value that says what it computes, and offers a space of ways to do so."""

    @property
    def name(self) -> str: ...

    def expression(self) -> Tensor: ...

    def space(self, s: Schedule, knob: Knobs, target: Target) -> Schedule: ...


@dataclass(frozen=True, eq=False)
class Task:
    """Work to be tuned: an expression (or an operator) on a target.

    Without a `template` the operator's own is used, or a space derived from the expression.
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
        if self.target is None:  # pyright: ignore[reportUnnecessaryComparison]
            object.__setattr__(self, "target", host())

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
        return f"{self.work.name} {shape}"

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
    def flops(self) -> int:
        return self.expression.flops

    @cached_property
    def space(self) -> Space[Schedule]:
        """The space of schedules, declared by running the template once."""
        own = self.work.template if isinstance(self.work, Tensor) else None
        if self.template is None and own is not None:
            return Space.declare(lambda knob: own(self._start, knob))
        template = self.template or getattr(self.work, "space", None) or derive
        return Space.declare(lambda knob: template(self._start, knob, self.target))

    @cached_property
    def _start(self) -> Schedule:
        return Schedule(self.expression)

    def schedule(self, config: Config) -> Schedule:
        """Return the schedule of one configuration."""
        return self.space.instantiate(config)

    def fallback(self) -> Schedule:
        """Return a schedule that needs no measurement, the one that looks best by its loads."""
        from tilewright.tuning.fallback import promising

        return self.schedule(self.space.config(promising(self.space)))

    def best(self, records: Records | None) -> Schedule:
        """Return the fastest recorded schedule, or the fallback if nothing was measured."""
        trial = None if records is None else self.best_trial(records)
        return self.fallback() if trial is None else self.recorded(trial)

    def best_trial(self, records: Records) -> Trial | None:
        """Return the fastest trial whose steps still make a schedule, or None.

        Trials that were taken just so count first, then those on one thread, then warm ones.
        """
        alone = replace(self, threads=1)
        for where in dict.fromkeys((self.where, alone.where, self.target.key)):
            trial = records.best(self.key, where)
            if trial is not None and self.can_use(trial):
                return trial
            every = records.trials(self.key, where) if trial else []  # another version wrote it
            usable = [t for t in every if t.seconds is not None and self.can_use(t)]
            if usable:
                return min(usable, key=lambda t: t.seconds or 0.0)
        return None

    def recorded(self, trial: Trial) -> Schedule:
        """Return the schedule of a trial from its steps; no template is needed."""
        return Schedule.from_json(self.expression, [dict(step) for step in trial.steps])

    def can_use(self, trial: Trial) -> bool:
        """Whether the steps of a trial still make a schedule."""
        try:
            self.recorded(trial)
        except ScheduleError:
            return False
        return True
