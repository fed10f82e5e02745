"""What `torch.compile(..., options=)` may say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tilewright.errors import ArgumentError
from tilewright.graph.torch.report import Report
from tilewright.records.store import Records


def _ignore(report: Report) -> None:
    del report


@dataclass(frozen=True, slots=True)
class Options:
    """How a model is compiled.

    `records` holds the schedules to use, and is where those that are found are kept. Each part that
    is compiled is tuned first, by so many `trials` and in so many `seconds`; without either it is
    not. `threads` is how many threads a run uses, by default as many as the machine has cores.
    `watch` is called with a `Report` of each graph that was compiled.
    """

    records: Records | str | Path | None = None
    trials: int | None = None
    seconds: float | None = None
    threads: int | None = None
    watch: Callable[[Report], Any] = _ignore

    @staticmethod
    def of(given: Mapping[str, Any] | None) -> Options:
        """Return the options of a mapping; raise ArgumentError for unknown ones."""
        known = [field.name for field in fields(Options)]
        unknown = [str(name) for name in given or {} if name not in known]
        if unknown:
            raise ArgumentError(
                f"cannot compile with options {', '.join(unknown)}: there are {', '.join(known)}."
            )
        return Options(**(given or {}))

    @property
    def tunes(self) -> bool:
        return bool(self.trials or self.seconds)

    def opened(self) -> AbstractContextManager[Records | None]:
        """Return the records, open; a new database is only made for what is found."""
        if isinstance(self.records, str | Path):
            return Records(self.records, create=self.tunes)
        if self.records is None and self.tunes:
            return Records(":memory:")
        return nullcontext(self.records)
