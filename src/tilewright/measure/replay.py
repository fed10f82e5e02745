"""Replay: outcomes from records, for experiments that need no machine and come out the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Self

from tilewright.errors import ScheduleError
from tilewright.loops.nodes import Nest
from tilewright.measure.build import Request
from tilewright.records.store import Records
from tilewright.records.trial import Failed, Outcome
from tilewright.schedule.schedule import Schedule


class Replay:
    """A measurer that answers with what is on record for the same program.

    `where` is the place whose records answer, as `Task.where`; that of a task on one thread if it
    is not given. A program that nobody measured fails: `Failed("run", "unknown", ...)`. The records
    are read when a task is first asked for.
    """

    def __init__(self, records: Records, where: str | None = None) -> None:
        self._records, self._where = records, where
        self._known: dict[tuple[str, str], dict[Nest, Outcome]] = {}

    def measure(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        for request in requests:
            yield self._outcomes(request).get(request.nest) or Failed(
                "run", "unknown", "no trial of this program is on record; measure it with Local()."
            )

    def _outcomes(self, request: Request) -> dict[Nest, Outcome]:
        place = (request.expression.digest, self._where or request.target.key)
        if place not in self._known:
            found: dict[Nest, Outcome] = {}
            for trial in self._records.trials(*place):
                try:
                    steps = [dict(step) for step in trial.steps]
                    found[Schedule.from_json(request.expression, steps).loops] = trial.outcome
                except ScheduleError:
                    continue  # made by steps that there no longer are
            self._known[place] = found
        return self._known[place]

    def close(self) -> None:
        """Nothing is held; the records stay open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
