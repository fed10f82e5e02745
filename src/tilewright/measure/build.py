"""The builder's side of a measurement: a loop nest becomes object code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilewright.errors import CompileError
from tilewright.expr.tensor import Tensor
from tilewright.loops.nodes import Nest
from tilewright.records.trial import Failed
from tilewright.runtime.artifact import Artifact, compile_nest
from tilewright.target import Target


@dataclass(frozen=True, slots=True)
class Request:
    """One candidate to build and time.

    `best` is the least time known for its task in seconds, or None: a candidate three times slower
    is timed only once. `cold` asks for constants that are not in the cache near the core, as inside
    of a network, where other layers ran since. `error` is what its algorithm may add to the error
    of rounding, as a share of the largest result.
    """

    expression: Tensor
    nest: Nest
    target: Target
    threads: int = 1
    best: float | None = None
    cold: bool = False
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class Built:
    """A request with its object code."""

    expression: Tensor
    artifact: Artifact
    threads: int
    best: float | None
    cold: bool = False
    error: float = 0.0


def start() -> Callable[[Request], Built | Failed]:
    """Return the function that a builder process answers with."""
    return build


def build(request: Request) -> Built | Failed:
    try:
        artifact = compile_nest(request.nest, request.target)
    except CompileError as error:
        return Failed("build", "error", str(error))
    return Built(
        request.expression, artifact, request.threads, request.best, request.cold, request.error
    )
