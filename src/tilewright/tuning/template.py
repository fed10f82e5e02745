"""A user's template as the program of a space: called as it is written, its slips explained."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tilewright.errors import SpaceError
from tilewright.schedule.schedule import Schedule
from tilewright.space.knobs import Knobs
from tilewright.target import Target

# A function of (schedule, knob), or of (schedule, knob, target).
Template = Callable[[Schedule, Knobs], Schedule] | Callable[[Schedule, Knobs, Target], Schedule]


@dataclass(frozen=True)
class Program:
    """What a space runs: `template` on `start`; it prints as the space of the task `name`."""

    template: Template
    start: Schedule
    target: Target
    name: str

    @cached_property
    def _arguments(self) -> tuple[Target, ...]:
        return (self.target,) if _wants_target(self.template) else ()

    def __call__(self, knob: Knobs) -> Schedule:
        template: Any = self.template
        arguments = self._arguments
        try:
            made = template(self.start, knob, *arguments)
        except ValueError as error:
            if "truth value of an array" not in str(error):
                raise
            raise SpaceError(
                f"the template {_called(template)!r} of {self.name} branches on a size knob or an "
                "extent made of one, which are arrays with an entry for each of many candidates: "
                "ask knob.choice(...) for what it branches on, leave candidates out with "
                "knob.require(...), or choose with np.where(condition, a, b)."
            ) from error
        if not isinstance(made, Schedule):
            raise SpaceError(
                f"the template {_called(template)!r} of {self.name} returned {made!r} and no "
                "schedule: each step returns a new one, so end the template with `return s`."
            )
        if made.output is not self.start.output:
            raise SpaceError(
                f"the template {_called(template)!r} of {self.name} returned a schedule of another "
                f"expression, {made.output.name!r}: apply its steps to the schedule it is given."
            )
        return made

    def __repr__(self) -> str:
        return f"the template of {self.name}"


def _wants_target(template: Any) -> bool:
    """Whether a template takes a target as its third argument; by what its signature says."""
    try:
        parameters = inspect.signature(template).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in plain if p.default is p.empty]
    starred = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if not callable(template) or len(needed) > 3 or (len(plain) < 2 and not starred):
        raise SpaceError(
            f"{_called(template)!r} is no template: give a function of (s, knob) or of "
            "(s, knob, target) that returns the schedule it makes of s."
        )
    return len(needed) == 3 or starred


def _called(template: Any) -> str:
    return str(getattr(template, "__qualname__", template))
