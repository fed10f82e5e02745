"""Measuring on this machine: builders on some cores, the runner alone on the last one."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self

from tilewright.errors import ArgumentError
from tilewright.measure.build import Request
from tilewright.measure.pipeline import Pipeline
from tilewright.measure.worker import Worker
from tilewright.records.trial import Outcome
from tilewright.runtime.threads import checked


class Measurer(Protocol):
    """Answers requests with outcomes, in order; takes the next one when it has room for it.

    `close` ends its processes, if it has any, and may be called twice.
    """

    def measure(self, requests: Iterable[Request]) -> Iterator[Outcome]: ...

    def close(self) -> None: ...


@dataclass
class Local:
    """Builder and runner processes on this machine, pinned and pipelined.

    `builders` is how many candidates compile at once; `timeout` (seconds) bounds the building and
    the running of one candidate; `repeats` samples of at least `sample` seconds are timed.
    """

    builders: int = 1
    timeout: float = 10.0
    repeats: int = 5
    sample: float = 1e-3
    threads: int = 1

    def __post_init__(self) -> None:
        self.threads, self.builders = checked(self.threads, 1), checked(self.builders, 1)
        for name in "timeout", "sample":
            seconds: Any = getattr(self, name)
            number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
            if not number or not 0 < seconds < math.inf:
                raise ArgumentError(
                    f"Local({name}={getattr(self, name)!r}): give seconds, more than none."
                )
        repeats: Any = self.repeats
        if not isinstance(repeats, int) or isinstance(repeats, bool) or repeats < 1:
            raise ArgumentError(f"Local(repeats={repeats!r}): give a whole number of at least 1.")
        cores = sorted(os.sched_getaffinity(0))
        runner = cores[-self.threads :]
        others = [core for core in cores if core not in runner] or cores
        self._pipeline = Pipeline(
            [
                Worker("tilewright.measure.build:start", cpus=(others[i % len(others)],))
                for i in range(self.builders)
            ],
            Worker("tilewright.measure.run:start", (self.repeats, self.sample), cpus=runner),
            build_timeout=self.timeout,
            run_timeout=self.timeout,
            overlap=len(cores) > self.threads,
        )

    def measure(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        return self._pipeline.measure(requests)

    def close(self) -> None:
        self._pipeline.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
