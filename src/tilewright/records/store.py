"""Trials that outlive the process: committed before anything learns from them."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import func, insert, select, update
from sqlalchemy.exc import IntegrityError

from tilewright.errors import RecordsError
from tilewright.records.connect import connect, explained
from tilewright.records.schema import from_row, meta, task, to_row, trial
from tilewright.records.summary import FailureClass, TaskSummary
from tilewright.records.trial import Trial


class Records:
    """A database of trials, at the path of an SQLite file or at an SQLAlchemy URL.

    Processes may share one. Every method is one transaction; what `add` has returned from is on
    disk. Raises `RecordsError` for a file that is no database of ours, or cannot be written.

    >>> with Records(":memory:") as records:
    ...     records.register("1f8a", "skylake/512b/2c", "matmul 64x64x64", flops=2 * 64**3)
    ...     records.tasks()[0].trials
    0
    """

    def __init__(self, where: str | Path, *, create: bool = True) -> None:
        self._engine = connect(where, create=create)
        self.url = self._engine.url

    def register(self, task_key: str, target_key: str, name: str, flops: float) -> None:
        """Make a task known before its first trial; a known one takes the new name and flops."""
        key = {"key": task_key, "target": target_key}
        values = {"name": name, "flops": flops}
        with explained(self.url, "write"):
            try:
                with self._engine.begin() as connection:
                    connection.execute(insert(task).values(**key, **values))
            except IntegrityError:
                known = (task.c.key == task_key) & (task.c.target == target_key)
                with self._engine.begin() as connection:
                    connection.execute(update(task).where(known).values(**values))

    def add(self, trials: Sequence[Trial]) -> None:
        """Commit the trials, all or none, in order; their tasks must be registered."""
        if not trials:
            return
        with explained(self.url, "write"):
            try:
                with self._engine.begin() as connection:
                    connection.execute(insert(trial), [to_row(each) for each in trials])
            except IntegrityError as error:
                keys = sorted({f"{each.task} on {each.target}" for each in trials})
                raise RecordsError(
                    f"cannot add {len(trials)} trials to {self.url.database}: a task of theirs is "
                    f"not registered ({', '.join(keys)}); call register(...) for each task first."
                ) from error

    def extend(self, of: Trial, seconds: Sequence[float]) -> None:
        """Add repeats that were taken later to a measured trial; its median is that of all."""
        same = _of(of.task, of.target) & trial.c.median.is_not(None)
        query = select(trial).where(same).order_by(trial.c.median, trial.c.id)
        with explained(self.url, "write"), self._engine.begin() as connection:
            for row in connection.execute(query).mappings():
                if row["config"] == dict(of.config):
                    every = [*row["seconds"], *seconds]
                    values = {"seconds": every, "median": statistics.median(every)}
                    connection.execute(
                        update(trial).where(trial.c.id == row["id"]).values(**values)
                    )
                    return

    def trials(self, task_key: str, target_key: str) -> list[Trial]:
        """Return every trial of a task on a target, oldest first; empty if it is unknown."""
        query = select(trial).where(_of(task_key, target_key)).order_by(trial.c.id)
        with explained(self.url, "read"), self._engine.connect() as connection:
            return [from_row(row) for row in connection.execute(query).mappings()]

    def best(self, task_key: str, target_key: str) -> Trial | None:
        """Return the measured trial of the lowest median, the older one of equals."""
        query = (
            select(trial)
            .where(_of(task_key, target_key), trial.c.median.is_not(None))
            .order_by(trial.c.median, trial.c.id)
            .limit(1)
        )
        with explained(self.url, "read"), self._engine.connect() as connection:
            row = connection.execute(query).mappings().first()
        return None if row is None else from_row(row)

    def tasks(self) -> list[TaskSummary]:
        """Summarise every registered task, in order of name, then target."""
        counted = (
            select(
                task,
                func.count(trial.c.id).label("trials"),
                func.min(trial.c.median).label("best_seconds"),
            )
            .join_from(task, trial, isouter=True)
            .group_by(task.c.key, task.c.target, task.c.name, task.c.flops)
            .order_by(task.c.name, task.c.target, task.c.key)
        )
        with explained(self.url, "read"), self._engine.connect() as connection:
            rows = list(connection.execute(counted).mappings())
        failures = self._failures()
        return [
            TaskSummary(**row, failures=tuple(failures[row["key"], row["target"]])) for row in rows
        ]

    def _failures(self) -> dict[tuple[str, str], list[FailureClass]]:
        """Count failures by task and class, the most frequent class first."""
        kinds = (trial.c.task, trial.c.target, trial.c.stage, trial.c.reason)
        counted = (
            select(*kinds, func.count().label("count"), func.min(trial.c.id).label("first"))
            .where(trial.c.reason.is_not(None))
            .group_by(*kinds)
            .subquery()
        )
        query = (
            select(counted, trial.c.message)
            .join(trial, trial.c.id == counted.c.first)
            .order_by(counted.c.count.desc(), counted.c.first)
        )
        found: dict[tuple[str, str], list[FailureClass]] = defaultdict(list)
        with explained(self.url, "read"), self._engine.connect() as connection:
            for row in connection.execute(query):
                kind = FailureClass(row.stage, row.reason, row[4], row.message)
                found[row.task, row.target].append(kind)
        return found

    def set_peak(self, target_key: str, flops_per_second: float) -> None:
        """Keep the measured peak of a target, that speeds can be shown as a share of it."""
        row = {"key": f"peak {target_key}", "value": repr(float(flops_per_second))}
        with explained(self.url, "write"):
            try:
                with self._engine.begin() as connection:
                    connection.execute(insert(meta).values(**row))
            except IntegrityError:
                known = meta.c.key == row["key"]
                with self._engine.begin() as connection:
                    connection.execute(update(meta).where(known).values(value=row["value"]))

    def peak(self, target_key: str) -> float | None:
        """Return the peak that `set_peak` kept, in operations a second, or None."""
        query = select(meta.c.value).where(meta.c.key == f"peak {target_key}")
        with explained(self.url, "read"), self._engine.connect() as connection:
            value = connection.scalar(query)
        return None if value is None else float(value)

    def close(self) -> None:
        """Release the database; the object is not used after."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Records({self.url.render_as_string()!r})"


def _of(task_key: str, target_key: str):
    return (trial.c.task == task_key) & (trial.c.target == target_key)
