"""Trials as JSON lines, for exchange: each line stands alone, so files can be joined and cut."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tilewright.errors import RecordsError
from tilewright.records.read import Damaged, failed, measured, read_trial, task_values, text
from tilewright.records.store import Records
from tilewright.records.summary import TaskSummary
from tilewright.records.torn import is_torn
from tilewright.records.trial import Measured, Trial

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
    if path.exists() and not path.is_file():
        raise RecordsError(
            f"cannot export to {path}: it is no regular file; give the path of a new file."
        )
    unfinished = path.with_name(path.name + ".part")
    try:
        count = _write(records, unfinished)
        unfinished.replace(path)
    except OSError as error:
        raise RecordsError(
            f"cannot export to {path}: {error.strerror}; give a path that can be written."
        ) from error
    return count


def _write(records: Records, path: Path) -> int:
    count = 0
    try:
        with path.open("w", encoding="utf-8") as file:
            for task in records.tasks():
                for trial in records.trials(task.key, task.target):
                    file.write(_line(task, trial) + "\n")
                    count += 1
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
    return count


def import_lines(records: Records, path: str | Path) -> Imported:
    """Add the trials of a file that `export_lines` wrote, except those already there.

    A last line that was cut off (a killed process, a full disk) is left out; any other line that
    cannot be read raises `RecordsError` with its number, and then nothing is added.
    """
    lines = _read(Path(path))
    torn = bool(lines) and is_torn(lines[-1])
    tasks: dict[tuple[str, str], tuple[str, float]] = {}
    trials: list[Trial] = []
    for number, line in enumerate(lines[:-1] if torn else lines, 1):
        if not line.strip():
            continue
        try:
            trial, values = _parse(line)
        except (ValueError, RecursionError) as error:
            raise _unreadable(path, number, str(error)) from error
        tasks[trial.task, trial.target] = values
        trials.append(trial)
    added = records.merge(tasks, trials)
    return Imported(added, len(trials) - added, torn)


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


def _parse(line: str) -> tuple[Trial, tuple[str, float]]:
    """Return a trial, and the name and flops of its task; raise ValueError that says why not."""
    data = _object("it", json.loads(line))
    if _of(data, "format") != _FORMAT:
        raise Damaged(f"its format is {data['format']!r}, not {_FORMAT}")
    task = _object("task", _of(data, "task"))
    if "measured" in data:
        of = _object("measured", data["measured"])
        outcome = measured(_of(of, "seconds"), _of(of, "error"))
    else:
        of = _object("failed", _of(data, "failed"))
        outcome = failed(_of(of, "stage"), _of(of, "reason"), _of(of, "message"))
    created = datetime.fromisoformat(text("created", _of(data, "created")))
    trial = read_trial(
        _of(task, "key"), _of(task, "target"), _of(data, "config"), _of(data, "steps"),
        outcome, created,
    )  # fmt: skip
    return trial, task_values(_of(task, "name"), _of(task, "flops"))


def _object(what: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Damaged(f"{what} is no object")
    return value


def _of(data: dict[str, Any], name: str) -> Any:
    if name not in data:
        raise Damaged(f"it has no {name}")
    return data[name]


def _read(path: Path) -> list[str]:
    """Return the lines; if the last one has its end, an empty one follows it."""
    try:
        data = path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise RecordsError(
            f"cannot import {path}: {error.strerror}; give a file that export wrote."
        ) from error
    return data.split("\n")


def _unreadable(path: str | Path, number: int, reason: str) -> RecordsError:
    return RecordsError(
        f"cannot import {path}: line {number} is no trial ({reason}); nothing was imported. "
        "Remove that line, or export the file again with a tilewright of this version."
    )
