"""Trials as JSON lines, for exchange: each line stands alone, so files can be joined and cut."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tilewright.errors import RecordsError
from tilewright.records.store import Records
from tilewright.records.summary import TaskSummary
from tilewright.records.trial import Failed, Measured, Trial

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did: trials added, trials that were there, and whether the end was torn."""

    added: int
    known: int
    torn: bool


def export_lines(records: Records, path: str | Path) -> int:
    """Write all trials to `path`, which is replaced only once whole; return their number."""
    path = Path(path)
    unfinished = path.with_name(path.name + ".part")
    count = 0
    try:
        with unfinished.open("w", encoding="utf-8") as file:
            for task in records.tasks():
                for trial in records.trials(task.key, task.target):
                    file.write(_line(task, trial) + "\n")
                    count += 1
        unfinished.replace(path)
    except OSError as error:
        raise RecordsError(
            f"cannot export to {path}: {error.strerror}; give a path that can be written."
        ) from error
    return count


def import_lines(records: Records, path: str | Path) -> Imported:
    """Add the trials of a file that `export_lines` wrote, except those already there.

    A last line that was cut off (a killed process, a full disk) is left out; any other line that
    cannot be read raises `RecordsError` with its number, and then nothing is added.
    """
    lines = _read(Path(path))
    torn = False
    tasks: dict[tuple[str, str], dict[str, Any]] = {}
    incoming: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    for number, line in enumerate(lines, 1):
        try:
            data = json.loads(line)
        except ValueError as error:
            if number == len(lines):
                torn = True
                break
            raise _unreadable(path, number, str(error)) from error
        try:
            if data["format"] != _FORMAT:
                raise ValueError(f"its format is {data['format']}, not {_FORMAT}")
            trial = _trial(data)
            tasks[trial.task, trial.target] = {k: data["task"][k] for k in ("name", "flops")}
        except (KeyError, TypeError, ValueError) as error:
            raise _unreadable(path, number, f"{type(error).__name__}: {error}") from error
        incoming[trial.task, trial.target].append(trial)
    fresh = [trial for key, trials in incoming.items() for trial in _unknown(records, key, trials)]
    for (key, target), values in tasks.items():
        records.register(key, target, **values)
    records.add(fresh)
    return Imported(len(fresh), sum(map(len, incoming.values())) - len(fresh), torn)


def _line(task: TaskSummary, trial: Trial) -> str:
    kind = "measured" if isinstance(trial.outcome, Measured) else "failed"
    data = {
        "format": _FORMAT,
        "task": {"key": task.key, "target": task.target, "name": task.name, "flops": task.flops},
        "config": dict(trial.config),
        "steps": [dict(step) for step in trial.steps],
        kind: asdict(trial.outcome),
        "created": trial.created.isoformat(),
    }
    return json.dumps(data)


def _trial(data: dict[str, Any]) -> Trial:
    if "measured" in data:
        outcome = Measured(tuple(data["measured"]["seconds"]), data["measured"]["error"])
    else:
        outcome = Failed(**data["failed"])
    key, target = data["task"]["key"], data["task"]["target"]
    created = datetime.fromisoformat(data["created"])
    return Trial(key, target, data["config"], data["steps"], outcome, created)


def _unknown(records: Records, key: tuple[str, str], trials: list[Trial]) -> Iterator[Trial]:
    seen = {repr(trial) for trial in records.trials(*key)}
    for trial in trials:
        if repr(trial) not in seen:
            seen.add(repr(trial))
            yield trial


def _read(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise RecordsError(
            f"cannot import {path}: {error.strerror}; give a file that export wrote."
        ) from error
    return [line for line in text.split("\n") if line.strip()]


def _unreadable(path: str | Path, number: int, reason: str) -> RecordsError:
    return RecordsError(
        f"cannot import {path}: line {number} is no trial ({reason}); nothing was imported. "
        "Remove that line, or export the file again with a tilewright of this version."
    )
