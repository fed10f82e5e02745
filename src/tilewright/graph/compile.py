"""compile: from a network and records to one callable module."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.errors import ArgumentError
from tilewright.graph.assemble import Work, assemble
from tilewright.graph.model import Model
from tilewright.graph.module import Module
from tilewright.loops.interpret import packed
from tilewright.loops.nodes import Buffer
from tilewright.records.store import Records
from tilewright.runtime.artifact import Artifact, check_runs_here, compile_nest
from tilewright.runtime.memory import aligned
from tilewright.runtime.threads import checked
from tilewright.target import Target, target_of
from tilewright.tuning.task import Operator, Task


def compile(
    model: Model,
    records: Records | str | Path | None = None,
    *,
    target: Target | str | None = None,
    threads: int | None = None,
) -> Module:
    """Compile a network with the best schedules on record, and a fallback for work without any.

    `records` may be the path of a database. Constants are packed now. `threads` is how many threads
    a run uses unless it says otherwise (default: the target's cores); work without records for so
    many uses those for one. Raise TargetError if code for `target` cannot run here.
    """
    if not isinstance(model, Model):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"cannot compile {model!r:.60} ({type(model).__name__}): give a network, as in "
            "compile(load_onnx('model.onnx')); build(...) takes expressions and schedules."
        )
    if isinstance(records, str | Path):
        with Records(records, create=False) as opened:
            return compile(model, opened, target=target, threads=threads)
    if records is not None and not isinstance(records, Records):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"cannot take schedules from {records!r:.60} ({type(records).__name__}): give Records, "
            "such as result.records, or the path of a database."
        )
    target = target_of(target)
    check_runs_here(target)
    count = checked(threads, target.cores)
    graph, artifacts = model.graph, dict[Operator, _Compiled]()
    works: list[Work] = []
    ready: dict[tuple[int, str, str], tuple[np.ndarray, np.ndarray]] = {}  # the first holds its id
    for node, work in zip(graph.nodes, model.bound, strict=True):
        if work is None:
            continue
        operator, given = work.operator, work.given
        if operator not in artifacts:
            task = Task(operator, target, threads=count, cold=True)
            artifacts[operator] = _compile(task, records, len(artifacts))
        made = artifacts[operator]
        places: list[str | np.ndarray | Buffer] = []
        for buffer in made.artifact.parameters:
            if buffer.scope == "output":
                places.append(node.output.name)
            elif buffer.scope == "workspace":
                places.append(buffer)
            else:
                value = given[buffer.source or buffer.name]
                array = graph.constants.get(value) if isinstance(value, str) else value
                if array is None:
                    assert isinstance(value, str)
                    places.append(value)
                else:
                    key = (id(array), made.artifact.name, buffer.name)
                    if key not in ready:
                        shaped = array.reshape(made.shapes[buffer.source or buffer.name])
                        filled = aligned(packed(buffer, shaped) if buffer.source else shaped)
                        ready[key] = (array, filled)
                    places.append(ready[key][1])
        works.append(Work(node, operator.name, made.task.flops, made.artifact, tuple(places)))
    untuned = tuple(o.name for o, made in artifacts.items() if not made.tuned)
    return Module(assemble(graph, works, target, count, untuned))


@dataclass(frozen=True)
class _Compiled:
    task: Task
    artifact: Artifact
    shapes: dict[str, tuple[int, ...]]
    tuned: bool


def _compile(task: Task, records: Records | None, number: int) -> _Compiled:
    trial = None if records is None else task.best_trial(records)
    schedule = task.fallback() if trial is None else task.recorded(trial)
    artifact = compile_nest(schedule.loops, task.target, f"op{number}")
    shapes = {t.name: t.shape for t in task.expression.inputs}
    return _Compiled(task, artifact, shapes, trial is not None)
