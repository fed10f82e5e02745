"""The tables of a records database, and how a trial is laid out in a row."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)

from tilewright.records import read
from tilewright.records.trial import Failed, Measured, Trial

VERSION = 1
"""Counts up when a table changes its meaning; a database of another version is refused."""

tables = MetaData()


class Unreadable:
    """Stands for a value that is not of its column's type."""

    def __repr__(self) -> str:
        return "unreadable"


class _Careful(TypeDecorator[Any]):
    """A type that makes a value which it cannot read `Unreadable`, so that its row can be named."""

    impl = JSON
    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: Any) -> Callable[..., Any]:
        reads = super().result_processor(dialect, coltype)

        def process(value: Any) -> Any:
            try:
                return reads(value) if reads else value
            except (ValueError, TypeError, RecursionError):
                return Unreadable()

        return process


class _CarefulTime(_Careful):
    impl = DateTime
    cache_ok = True


meta = Table(
    "meta",
    tables,
    Column("key", String, primary_key=True),
    Column("value", String, nullable=False),
)

task = Table(
    "task",
    tables,
    Column("key", String, primary_key=True),
    Column("target", String, primary_key=True),
    Column("name", Text, nullable=False),
    Column("flops", Float, nullable=False),
)

trial = Table(
    "trial",
    tables,
    Column("id", Integer, primary_key=True),
    Column("task", String, nullable=False),
    Column("target", String, nullable=False),
    Column("config", _Careful, nullable=False),
    Column("steps", _Careful, nullable=False),
    Column("median", Float),  # of `seconds`, null for a failure: what the best is found by
    Column("seconds", _Careful(none_as_null=True)),
    Column("error", Float),
    Column("stage", String),
    Column("reason", String),
    Column("message", Text),
    Column("created", _CarefulTime, nullable=False),  # in UTC
    ForeignKeyConstraint(["task", "target"], ["task.key", "task.target"]),
    Index("trial_median", "task", "target", "median"),
)

# These came later than the others: a database may lack them, and gets one when it is first
# written to.
quality = Table(
    "quality",
    tables,
    Column("id", Integer, primary_key=True),
    Column("task", String, nullable=False),
    Column("target", String, nullable=False),
    Column("trials", Integer, nullable=False),  # of the task, when its model was judged
    Column("rows", Integer, nullable=False),
    Column("accuracy", Float),
    Column("recall", Float),
    Column("followed", Boolean, nullable=False),
    ForeignKeyConstraint(["task", "target"], ["task.key", "task.target"]),
    Index("quality_task", "task", "target"),
)

# Of the trials of a task, the one that was fastest inside of a network, on all its threads or
# `alone`, on one; `last` is the last trial that was on record then.
choice = Table(
    "choice",
    tables,
    Column("id", Integer, primary_key=True),
    Column("network", String, nullable=False),
    Column("target", String, nullable=False),
    Column("trial", Integer, ForeignKey("trial.id"), nullable=False),
    Column("alone", Integer, nullable=False),
    Column("last", Integer, nullable=False),
    Index("choice_network", "network", "target"),
)
LATER = frozenset({"quality", "choice"})


def to_row(value: Trial) -> dict[str, Any]:
    """Lay out a trial as the columns of table `trial`."""
    row: dict[str, Any] = {
        "task": value.task,
        "target": value.target,
        "config": dict(value.config),
        "steps": [dict(step) for step in value.steps],
        "created": value.created.astimezone(UTC).replace(tzinfo=None),
        **dict.fromkeys(("median", "seconds", "error", "stage", "reason", "message")),
    }
    match value.outcome:
        case Measured(seconds, error):
            # SQL has no NaN: an unknown error is null.
            known = None if math.isnan(error) else error
            row |= {"median": value.seconds, "seconds": list(seconds), "error": known}
        case Failed(stage, reason, message):
            row |= {"stage": stage, "reason": reason, "message": message}
    return row


def from_row(row: Mapping[Any, Any]) -> Trial:
    """Rebuild the trial that `to_row` laid out; raise `read.Damaged` if it did not."""
    if row["seconds"] is not None:
        error = math.nan if row["error"] is None else row["error"]
        outcome = read.measured(row["seconds"], error)
        median = statistics.median(outcome.seconds)
    else:
        outcome = read.failed(row["stage"], row["reason"], row["message"])
        median = None
    if row["median"] != median:
        raise read.Damaged(f"median is {row['median']!r}, and that of its seconds {median}")
    created = row["created"]
    created = created.replace(tzinfo=UTC) if isinstance(created, datetime) else created
    return read.read_trial(
        row["task"], row["target"], row["config"], row["steps"], outcome, created
    )
