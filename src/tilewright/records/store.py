"""Trials that outlive the process: committed before anything learns from them."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, Self

from sqlalchemy import (
    Connection,
    Engine,
    RowMapping,
    Select,
    delete,
    false,
    func,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from tilewright.errors import ArgumentError, RecordsError
from tilewright.records.connect import connect, explained, file_of, identity
from tilewright.records.quality import Judged
from tilewright.records.read import Damaged, task_values
from tilewright.records.schema import choice as table
from tilewright.records.schema import from_row, meta, quality, task, to_row, trial
from tilewright.records.summary import TaskSummary, summarise
from tilewright.records.trial import Choice, Measured, Trial


def opened(records: Any, refused: str, advice: str) -> AbstractContextManager[Records]:
    """Return `records` as they are, or opened for a block if they are the path of a database.

    Raise ArgumentError, which begins with `refused` and ends with `advice`, if they are neither.
    """
    if isinstance(records, str | Path):
        return Records(records, create=False)
    if not isinstance(records, Records):
        raise ArgumentError(f"{refused} ({type(records).__name__}): {advice}")
    return nullcontext(records)


class Records:
    """A database of trials, at the path of an SQLite file or at an SQLAlchemy URL.

    Processes may share one. Every method is one transaction; what `add` has returned from is on
    disk. Raises `RecordsError` for a file that is no database of ours, or cannot be written. Rows
    that something else has damaged are left out; `damaged` says which so far, and why.

    >>> with Records(":memory:") as records:
    ...     records.register("1f8a", "skylake/512b/2c", "matmul 64x64x64", flops=2 * 64**3)
    ...     records.tasks()[0].trials
    0
    """

    def __init__(self, where: str | Path, *, create: bool = True) -> None:
        self._opened = connect(where, create=create)
        self._create = create
        self._closed = False
        self.url = self._opened.url
        self._file = file_of(self.url)
        self._identity = None if self._file is None else identity(self._file)
        self.damaged: dict[str, str] = {}

    @property
    def _engine(self) -> Engine:
        if self._closed:
            raise RecordsError(
                f"cannot use {self}: it was closed, as at the end of its `with` block; open it "
                "again with Records(...), or do this inside of the block."
            )
        return self._opened

    def register(self, task_key: str, target_key: str, name: str, flops: float) -> None:
        """Make a task known before its first trial; a known one takes the new name and flops."""
        with self._writing() as connection:
            _register(connection, task_key, target_key, name, flops)

    def add(self, trials: Sequence[Trial]) -> None:
        """Commit the trials, all or none, in order; their tasks must be registered."""
        if not trials:
            return
        with self._writing() as connection:
            try:
                connection.execute(insert(trial), [to_row(each) for each in trials])
            except IntegrityError as error:
                keys = sorted({f"{each.task} on {each.target}" for each in trials})
                raise RecordsError(
                    f"cannot add {len(trials)} trials to {self.url.database}: a task of theirs is "
                    f"not registered ({', '.join(keys)}); call register(...) for each task first."
                ) from error

    def merge(
        self, tasks: Mapping[tuple[str, str], tuple[str, float]], trials: Iterable[Trial]
    ) -> int:
        """Register tasks (name and flops by task and target), and add trials that are not there.

        All of it is one transaction. Returns how many trials were added.
        """
        with self._writing() as connection:
            for (key, target), (name, flops) in tasks.items():
                _register(connection, key, target, name, flops)
            known = {repr(t) for of in tasks for t in self._read(connection, _trials_of(*of))}
            fresh = [t for text, t in {repr(t): t for t in trials}.items() if text not in known]
            if fresh:
                connection.execute(insert(trial), [to_row(each) for each in fresh])
        return len(fresh)

    def extend(self, of: Trial, seconds: Sequence[float]) -> None:
        """Add repeats that were taken later to a measured trial; its median is that of all."""
        query = _fastest_first(of.task, of.target)
        with self._writing() as connection:
            for number, found in self._numbered(connection, query):
                if found.config == dict(of.config) and isinstance(found.outcome, Measured):
                    every = [*found.outcome.seconds, *seconds]
                    values = {"seconds": every, "median": statistics.median(every)}
                    connection.execute(update(trial).where(trial.c.id == number).values(**values))
                    return

    def add_quality(self, task_key: str, target_key: str, judged: Judged) -> None:
        """Keep how well a model did on a task's last trials; the task must be registered."""
        with self._writing() as connection:
            quality.create(connection, checkfirst=True)
            row = {"task": task_key, "target": target_key, **judged.to_row()}
            connection.execute(insert(quality).values(**row))

    def quality(self, task_key: str, target_key: str) -> list[Judged]:
        """Return how well models did on a task, batch by batch, oldest first."""
        same = (quality.c.task == task_key) & (quality.c.target == target_key)
        with self._reading() as connection:
            if not inspect(connection).has_table(quality.name):
                return []
            found: list[Judged] = []
            query = select(quality).where(same).order_by(quality.c.id)
            for row in connection.execute(query).mappings():
                try:
                    found.append(Judged.from_row(row))
                except (TypeError, ValueError) as problem:
                    self.damaged[f"quality {row['id']}"] = str(problem)
            return found

    def check_writable(self) -> None:
        """Raise RecordsError now if nothing can be written, before work is done in vain."""
        with self._writing() as connection:  # SQLite refuses statements, and no transaction
            connection.execute(delete(meta).where(false()))

    def choose(self, network: str, target_key: str, choices: Sequence[Choice]) -> None:
        """Keep what was fastest for each task inside of a network, in place of earlier choices.

        `network` is what the network is known by, `target_key` where it ran; the trials are on
        record. A choice holds until a trial of its task comes that is faster than its own and than
        all before it, on as many threads as its own or on the network's.
        """
        with self._writing() as connection:
            table.create(connection, checkfirst=True)
            here = (table.c.network == network) & (table.c.target == target_key)
            connection.execute(delete(table).where(here))
            last = connection.scalar(select(func.max(trial.c.id)))
            for choice in choices:
                of = choice.trial
                known = self._numbered(connection, _trials_of(of.task, of.target))
                same = next((number for number, found in known if found.steps == of.steps), None)
                if same is not None:
                    row = {"network": network, "target": target_key, "alone": int(choice.alone)}
                    connection.execute(insert(table).values(**row, trial=same, last=last))

    def choices(
        self, network: str, target_key: str, accept: Callable[[Trial], bool] = lambda _: True
    ) -> dict[str, Choice]:
        """Return what `choose` kept for each task, by its key, and still holds.

        Trials that `accept` does not take neither are chosen nor end a choice.
        """
        here = (table.c.network == network) & (table.c.target == target_key)
        own = (table.c.id.label("choice"), table.c.trial, table.c.alone, table.c.last)
        query = select(*own, trial).outerjoin_from(table, trial).where(here).order_by(table.c.id)
        with self._reading() as connection:
            if not inspect(connection).has_table(table.name):
                return {}
            chosen: dict[str, Choice] = {}
            for row in connection.execute(query).mappings().all():
                last, alone, name = row["last"], row["alone"], f"choice {row['choice']}"
                if row["id"] is None:
                    self.damaged[name] = f"its trial {row['trial']!r} is not on record"
                elif not isinstance(last, int) or alone not in (0, 1):
                    self.damaged[name] = f"it says {last!r}, {alone!r}"
                elif (each := self._trial(row)) is not None and accept(each):
                    wheres = dict.fromkeys((each.target, target_key))
                    faster = (self._fastest(connection, each, at, accept) for at in wheres)
                    if all(number <= last for number in faster):
                        chosen[each.task] = Choice(each, bool(alone))
            return chosen

    def trials(self, task_key: str, target_key: str) -> list[Trial]:
        """Return every trial of a task on a target, oldest first; empty if it is unknown."""
        with self._reading() as connection:
            return list(self._read(connection, _trials_of(task_key, target_key)))

    def best(self, task_key: str, target_key: str) -> Trial | None:
        """Return the measured trial of the lowest median, the older one of equals."""
        return next(iter(self.fastest(task_key, target_key, 1)), None)

    def fastest(
        self,
        task_key: str,
        target_key: str,
        count: int,
        accept: Callable[[Trial], bool] = lambda _: True,
    ) -> list[Trial]:
        """Return the `count` measured trials of the lowest medians, of those that `accept` takes.

        Fastest first, the older one of equals; only as many are read as it takes.
        """
        query = _fastest_first(task_key, target_key)
        with self._reading() as connection:
            return list(islice(filter(accept, self._read(connection, query)), count))

    def tasks(self) -> list[TaskSummary]:
        """Summarise every registered task, in order of name, then target."""
        of: dict[tuple[str, str], list[Trial]] = defaultdict(list)
        query = select(task).order_by(task.c.name, task.c.target, task.c.key)
        with self._reading() as connection:
            for each in self._read(connection, select(trial).order_by(trial.c.id)):
                of[each.task, each.target].append(each)
            return [
                summary
                for row in connection.execute(query).mappings()
                if (summary := self._summary(row, of[row["key"], row["target"]])) is not None
            ]

    def _summary(self, row: RowMapping, trials: Sequence[Trial]) -> TaskSummary | None:
        try:
            name, flops = task_values(row["name"], row["flops"])
        except Damaged as problem:
            self.damaged[f"task {row['key']!r}"] = str(problem)
            return None
        return summarise(row["key"], row["target"], name, flops, trials)

    def set_peak(self, target_key: str, flops_per_second: float) -> None:
        """Keep the measured peak of a target, that speeds can be shown as a share of it."""
        key, value = f"peak {target_key}", repr(float(flops_per_second))
        with self._writing() as connection:
            known = update(meta).where(meta.c.key == key).values(value=value)
            if not connection.execute(known).rowcount:
                connection.execute(insert(meta).values(key=key, value=value))

    def peak(self, target_key: str) -> float | None:
        """Return the peak that `set_peak` kept, in operations a second, or None."""
        key = f"peak {target_key}"
        with self._reading() as connection:
            value = connection.scalar(select(meta.c.value).where(meta.c.key == key))
        try:
            found = None if value is None else float(value)
        except (TypeError, ValueError):
            found = math.nan
        if found is None or 0 < found < math.inf:
            return found
        self.damaged[f"meta {key!r}"] = f"its value is {value!r}, no speed"
        return None

    def _fastest(
        self, connection: Connection, than: Trial, target_key: str, accept: Callable[[Trial], bool]
    ) -> int:
        """Return the number of the fastest trial on a target that is faster than one; 0 if none."""
        query = _fastest_first(than.task, target_key).where(trial.c.median < than.seconds)
        found = self._numbered(connection, query)
        return next((number for number, each in found if accept(each)), 0)

    def _read(self, connection: Connection, query: Select[Any]) -> Iterator[Trial]:
        """Yield the trials of a query; rows that are damaged are left out, and kept in mind."""
        return (each for _, each in self._numbered(connection, query))

    def _numbered(self, connection: Connection, query: Select[Any]) -> Iterator[tuple[int, Trial]]:
        for row in connection.execute(query).mappings():
            if (found := self._trial(row)) is not None:
                yield row["id"], found

    def _trial(self, row: RowMapping) -> Trial | None:
        """Return the trial of a row; None if it is damaged, which is kept in mind."""
        try:
            return from_row(row)
        except Damaged as problem:
            self.damaged[f"trial {row['id']}"] = str(problem)
            return None

    @contextmanager
    def _reading(self) -> Generator[Connection]:
        self._check_place()
        told = explained(self.url, "read", create=self._create)
        with told, self._engine.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Generator[Connection]:
        """Begin a transaction, which is committed at the end; what it wrote is then in the file."""
        self._check_place()
        engine = self._engine.execution_options(writes=True)
        told = explained(self.url, "write", create=self._create)
        with told, engine.begin() as connection:
            yield connection
        self._check_place()

    def _check_place(self) -> None:
        """Refuse to go on if the file was deleted: what is written to one is lost at the end."""
        if self._file is not None and identity(self._file) != self._identity:
            raise RecordsError(
                f"cannot use {self._file}: it was deleted or replaced while in use, and what was "
                "measured since is in no file; put it back, or start again with a new one."
            )

    def close(self) -> None:
        """Release the database; what is asked of the object after raises `RecordsError`."""
        if not self._closed:
            self._closed = True
            self._opened.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        sqlite = self.url.get_backend_name() == "sqlite"
        shown = self.url.database if sqlite else self.url.render_as_string()
        return f"Records({shown!r})"


def _of(task_key: str, target_key: str):
    return (trial.c.task == task_key) & (trial.c.target == target_key)


def _fastest_first(task_key: str, target_key: str) -> Select[Any]:
    """Select measured trials by their medians, older ones first."""
    measured = _of(task_key, target_key) & trial.c.median.is_not(None)
    return select(trial).where(measured).order_by(trial.c.median, trial.c.id)


def _trials_of(task_key: str, target_key: str) -> Select[Any]:
    return select(trial).where(_of(task_key, target_key)).order_by(trial.c.id)


def _register(connection: Connection, key: str, target: str, name: str, flops: float) -> None:
    known = (task.c.key == key) & (task.c.target == target)
    values = {"name": name, "flops": flops}
    if not connection.execute(update(task).where(known).values(**values)).rowcount:
        connection.execute(insert(task).values(key=key, target=target, **values))
