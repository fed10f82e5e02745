"""Which knobs a program has: it is run down each way at its branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tilewright.errors import SpaceError
from tilewright.space.config import Value
from tilewright.space.knobs import Knob, Knobs
from tilewright.space.run import Declaration, Run
from tilewright.space.ways import is_asked

Program = Callable[[Knobs], Any]


def declared(program: Program) -> tuple[Knob, ...]:
    """Return the knobs of a program; raise `SpaceError`, or what it does if it always raises."""
    knobs: dict[str, Knob] = {}
    ways: list[dict[str, Value]] = [{}]
    done: set[tuple[tuple[str, Value], ...]] = set()
    failure: _UndeclaredError | None = None
    runs = 0
    while ways:
        try:
            run = _declare(program, ways.pop(0), knobs)
            runs += 1
        except _UndeclaredError as error:  # other ways may still be fine
            failure, run = error, error.run
        knobs = run.knobs
        for name in run.values:
            branch = knobs[name]
            if branch.kind != "branch":
                continue
            done.add((*branch.when, (name, run.values[name])))
            for option in branch.options:
                path = (*branch.when, (name, option))
                if path not in done:
                    done.add(path)
                    ways.append(dict(path))
    if failure is not None and not runs:
        raise failure.raised or failure
    _probe(program, knobs)
    return tuple(knobs.values())


class _UndeclaredError(SpaceError):
    """A way on which no candidate tried runs.

    `run` is the last that was tried; `raised` what the last that met all requirements did.
    """

    def __init__(self, message: str, run: Declaration, raised: Exception | None) -> None:
        super().__init__(message)
        self.run = run
        self.raised = raised


def _declare(program: Program, ways: dict[str, Value], knobs: dict[str, Knob]) -> Declaration:
    """Run `program` down these ways: with the first options, or others if these fail."""
    run = Declaration(lambda _: 0, ways, knobs)
    raised: Exception | None = None
    for pick in _picks():
        run = Declaration(pick, ways, knobs)
        try:
            program(run)
        except SpaceError:
            raise
        except Exception as error:
            if run.met:
                raised = error
            continue  # outside of the space anything may fail, and inside it some candidates
        return run
    raise _UndeclaredError(
        f"cannot declare the knobs of {program!r}: no candidate tried meets its requirements, "
        "and it raises on each; loosen them, or return before what raises.",
        run,
        raised,
    )


def _probe(program: Program, knobs: dict[str, Knob]) -> None:
    """Raise `SpaceError` if some other options make the program ask for other knobs."""
    for _, pick in zip(range(4), _picks(), strict=False):
        run = Run(knobs, _taken(knobs, pick), lenient=True)
        try:
            program(run)
        except SpaceError:
            raise
        except Exception:
            continue  # outside the space, or a fault that instantiate() will show
        run.finish()


def _taken(knobs: dict[str, Knob], pick: Callable[[Knob], int]) -> dict[str, Any]:
    """Return the values that `pick` gives to the knobs that are then asked for."""
    values: dict[str, Any] = {}
    for name, knob in knobs.items():
        if is_asked(knob, values):
            values[name] = knob.options[pick(knob)]
    return values


def _picks() -> Iterator[Callable[[Knob], int]]:
    """Yield ways to pick an option of a knob: the first, the last, then draws with fixed seeds."""
    yield lambda _: 0
    yield lambda knob: len(knob.options) - 1
    for seed in range(62):
        draw = np.random.default_rng(seed)
        yield lambda knob, draw=draw: int(draw.integers(len(knob.options)))
