"""The tables of a records database, and how a trial is laid out in a row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC
from typing import Any

from sqlalchemy import (
    JSON,
    Column,
    DateTime,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

from tilewright.records.trial import Failed, Measured, Trial

VERSION = 1
"""Counts up when a table changes its meaning; a database of another version is refused."""

tables = MetaData()

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
    Column("config", JSON, nullable=False),
    Column("steps", JSON, nullable=False),
    Column("median", Float),  # of `seconds`, null for a failure: what the best is found by
    Column("seconds", JSON(none_as_null=True)),
    Column("error", Float),
    Column("stage", String),
    Column("reason", String),
    Column("message", Text),
    Column("created", DateTime, nullable=False),  # in UTC
    ForeignKeyConstraint(["task", "target"], ["task.key", "task.target"]),
    Index("trial_median", "task", "target", "median"),
)


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
    """Rebuild the trial that `to_row` laid out."""
    if row["seconds"] is not None:
        error = math.nan if row["error"] is None else row["error"]
        outcome = Measured(tuple(row["seconds"]), error)
    else:
        outcome = Failed(row["stage"], row["reason"], row["message"])
    created = row["created"].replace(tzinfo=UTC)
    return Trial(row["task"], row["target"], row["config"], row["steps"], outcome, created)
