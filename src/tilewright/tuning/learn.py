"""Learn: what records know of many tasks, as data for a model that is to help with others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.errors import ArgumentError, RecordsError, SpaceError, TilewrightError
from tilewright.features import FEATURES
from tilewright.features.extractor import Extractor
from tilewright.models.bounds import can, within
from tilewright.models.training import Training
from tilewright.records.store import Records, opened
from tilewright.records.trial import Measured, Trial
from tilewright.search.history import without_failures
from tilewright.space.config import Config
from tilewright.space.space import Space
from tilewright.tuning.result import Tunable, each_once
from tilewright.tuning.session import scores
from tilewright.tuning.task import Task
from tilewright.tuning.weights import weight

SHOWN = 4  # tasks named in an error


def learn(
    records: Records | str | Path,
    tasks: Tunable,
    features: Extractor = FEATURES,
    *,
    most: int | None = None,
    least: int = 1,
) -> Training:
    """Make training data of every trial of these tasks on record, each task a group.

    Features are those of the steps that were measured, by the task's expression: a space that has
    changed since does not matter, and no template is needed. That takes some 15 ms a trial. Where a
    few recorded configs still lead to their recorded steps, the configs are used, all at once.
    `records` may be a path, which is opened for this alone. `most` takes as many trials of each
    task, evenly over their times. Those without steps, or whose steps no longer make a schedule,
    are left out. For an honest test of what is learnt, leave out the task that it is to help with.

    Raise RecordsError if fewer than `least` trials that ran are left of all tasks together, as a
    model of none knows nothing; with 0 there may be no rows.

        source = tw.models.Boosted().fit(tw.learn(records, tasks))
        search = tw.search.Guided(tw.models.Transfer(source=source))
        tw.tune(other, trials=100, search=search)
    """
    _check(features, most, least)
    listed = each_once(tasks)
    with opened(
        records, f"cannot learn from {records!r:.80}", "give Records, or the path of a database."
    ) as known:
        data, ran = _learnt(known, listed, features, most)
        if ran < least:
            raise RecordsError(_too_few(known, listed, ran, least))
    return data


def _check(features: Any, most: Any, least: Any) -> None:
    if not (can(features, "extract") and hasattr(features, "names")):
        raise ArgumentError(
            f"cannot learn from {features!r:.80}: give an extractor of features, such as "
            "Relation(), or nothing for the usual ones."
        )
    if not features.names:
        raise ArgumentError(
            f"cannot learn {features!r} of many tasks: its columns mean nothing in another space; "
            "give features such as Relation()."
        )
    if most is not None and not within(most, 1, whole=True):
        raise ArgumentError(
            f"cannot learn from most={most!r} trials of each task: give a whole number of at least "
            "1, or nothing for all of them."
        )
    if not within(least, 0, whole=True):
        raise ArgumentError(
            f"cannot learn from at least {least!r} trials: give a whole number, 0 if there need be "
            "none."
        )


def _learnt(
    records: Records, tasks: Sequence[Task], features: Extractor, most: int | None
) -> tuple[Training, int]:
    """Return the data, and how many of its trials ran."""
    X, y, group, weights = [_none(features)], [np.zeros(0)], [np.zeros(0, int)], [np.zeros(0)]
    ran = 0
    for number, task in enumerate(tasks):
        trials = _chosen(records.trials(task.key, task.where), most)
        rows = _features(task, trials, features)
        known = np.flatnonzero(~np.isnan(rows).any(axis=1))
        if len(known):
            kept = [trials[i].outcome for i in known.tolist()]
            X.append(rows[known])
            y.append(without_failures(scores(kept)))
            group.append(np.full(len(kept), number))
            weights.append(np.array([weight(outcome) for outcome in kept]))
            ran += sum(isinstance(outcome, Measured) for outcome in kept)
    data = Training.of(*map(np.concatenate, (X, y, group)), weight=np.concatenate(weights))
    return data, ran


def _too_few(records: Records, tasks: Sequence[Task], ran: int, least: int) -> str:
    """Say what was looked for, what of it is there, and what is there instead."""
    if not tasks:
        return (
            f"cannot learn from {records}: no task was given; give what was tuned, or least=0 "
            "to take no rows."
        )
    summaries = records.tasks()
    held = sum(len(records.trials(task.key, task.where)) for task in tasks)
    of = "it" if len(tasks) == 1 else "them"
    there = f"of {held} trials of {of} {ran or 'none'} ran and still make a schedule"
    wanted = "" if least == 1 else f", {least} are wanted"
    keys = {task.key for task in tasks}
    others = sorted((s for s in summaries if s.trials), key=lambda s: s.key not in keys)
    shown = [f"{s.name} on {s.target}: {s.trials}" for s in others]
    return (
        f"cannot learn {_some([f'{t.name} on {t.where}' for t in tasks], ', ')} from {records}: "
        f"{there if held else f'it holds no trial of {of}'}{wanted}.\n"
        f"  trials on record: {_some(shown, '; ') or 'none'}\n"
        "  Tune them first, or give tasks with the target, `threads` and `cold` that were tuned "
        "(those of a network are cold); least=0 takes what there is."
    )


def _some(names: Sequence[str], between: str) -> str:
    more = len(names) - SHOWN
    return between.join(names[:SHOWN]) + (f"{between}and {more} more" if more > 0 else "")


def _chosen(trials: Sequence[Trial], most: int | None) -> Sequence[Trial]:
    """Return trials that have steps; up to `most` of them, from the fastest to the failed."""
    trials = [t for t in trials if t.steps]
    if most is None or len(trials) <= most:
        return trials
    ranked = sorted(trials, key=lambda t: np.inf if t.seconds is None else t.seconds)
    return [ranked[i] for i in np.linspace(0, len(ranked) - 1, most).astype(int)]


def _features(task: Task, trials: Sequence[Trial], features: Extractor) -> np.ndarray[Any, Any]:
    """Return a row for each trial, all NaN if it cannot be scheduled any more."""
    if all(_is_as_it_was(task, trial) for trial in (*trials[:1], *trials[-2:])):
        try:
            rows = [task.space.encode(Config.from_json(dict(t.config))) for t in trials]
        except SpaceError:
            pass  # some were recorded in another space
        else:
            if trials and task.space.valid(np.stack(rows)).all():
                return features.extract(task.space, np.stack(rows))
    made = [_by_steps(task, trial, features) for trial in trials]
    return np.concatenate(made) if made else _none(features)


def _is_as_it_was(task: Task, trial: Trial) -> bool:
    """Whether the config of a trial leads to the steps that it led to when it was recorded."""
    try:
        steps = task.schedule(Config.from_json(dict(trial.config))).to_json()
    except Exception:  # a template may raise anything
        return False
    return steps == [dict(step) for step in trial.steps]


def _by_steps(task: Task, trial: Trial, features: Extractor) -> np.ndarray[Any, Any]:
    """Return the features of a recorded schedule: those of a space that holds nothing else."""
    try:
        schedule = task.recorded(trial)
    except TilewrightError:
        return np.full((1, len(features.names)), np.nan, np.float32)
    return features.extract(Space.declare(lambda _: schedule), np.zeros((1, 0), np.int32))


def _none(features: Extractor) -> np.ndarray[Any, Any]:
    return np.zeros((0, len(features.names)), np.float32)
