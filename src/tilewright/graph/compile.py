"""compile: from a network and records to one callable module."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.errors import ArgumentError, ModelError
from tilewright.graph.assemble import Work, assemble
from tilewright.graph.budget import fit, ways
from tilewright.graph.ir import Graph, Node
from tilewright.graph.kernels import Bound
from tilewright.graph.model import Model
from tilewright.graph.module import Module
from tilewright.loops.interpret import packed
from tilewright.loops.nodes import Buffer
from tilewright.records.store import Records
from tilewright.runtime.artifact import Artifact, check_runs_here, compile_nest
from tilewright.runtime.memory import aligned, physical
from tilewright.runtime.threads import checked
from tilewright.target import Target, target_of
from tilewright.tuning.task import Operator, Task


def compile(
    model: Model,
    records: Records | str | Path | None = None,
    *,
    target: Target | str | None = None,
    threads: int | None = None,
    weight_bytes: int | None = None,
) -> Module:
    """Compile a network with the best schedules on record, and a fallback for work without any.

    `records` may be the path of a database. Constants are packed now. `threads` is how many threads
    a run uses unless it says otherwise (default: the target's cores); work without records for so
    many uses those for one. `weight_bytes` is the most that packed weights may take: slower ways on
    record are taken where those of the fastest do not fit. Raise TargetError if code for `target`
    cannot run here, ArgumentError if no weights on record are so small.
    """
    if not isinstance(model, Model):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"cannot compile {model!r:.60} ({type(model).__name__}): give a network, as in "
            "compile(load_onnx('model.onnx')); build(...) takes expressions and schedules."
        )
    if isinstance(records, str | Path):
        with Records(records, create=False) as opened:
            return compile(model, opened, target=target, threads=threads, weight_bytes=weight_bytes)
    if records is not None and not isinstance(records, Records):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"cannot take schedules from {records!r:.60} ({type(records).__name__}): give Records, "
            "such as result.records, or the path of a database."
        )
    whole = isinstance(weight_bytes, int) and not isinstance(weight_bytes, bool)
    if weight_bytes is not None and not (whole and weight_bytes >= 0):
        raise ArgumentError(
            f"cannot keep the weights in weight_bytes={weight_bytes!r}: give the most bytes that "
            "they may take, a whole number; None for no bound."
        )
    target = target_of(target)
    check_runs_here(target)
    count = checked(threads, target.cores)
    _check_memory(model)
    compiled = _compiled(model, records, target, count, weight_bytes)
    works, ready = list[Work](), _Ready()
    for node, work in zip(model.graph.nodes, model.bound, strict=True):
        if work is not None:
            made = compiled[work.operator]
            places = [
                _place(buffer, node, model.graph, work, made, ready)
                for buffer in made.artifact.parameters
            ]
            flops, artifact = made.task.flops, made.artifact
            works.append(Work(node, work.operator.name, flops, artifact, tuple(places)))
    untuned = tuple(o.name for o, made in compiled.items() if not made.tuned)
    return Module(assemble(model.graph, works, target, count, untuned))


@dataclass(frozen=True)
class _Compiled:
    task: Task
    artifact: Artifact
    shapes: dict[str, tuple[int, ...]]
    tuned: bool


def _compiled(
    model: Model, records: Records | None, target: Target, threads: int, weight_bytes: int | None
) -> dict[Operator, _Compiled]:
    """Choose a schedule for each different piece of work, and generate its code."""
    held: dict[Operator, dict[str, set[int]]] = {}
    for work in model.bound:
        if work is not None:
            arrays = held.setdefault(work.operator, defaultdict(set))
            for tensor, value in work.given.items():
                array = _constant(model.graph, value)
                if array is not None:
                    arrays[tensor].add(id(array))
    tasks = model.tasks(target, threads)
    choices = [
        ways(task, records, {name: len(of) for name, of in arrays.items()}, weight_bytes is None)
        for task, arrays in zip(tasks, held.values(), strict=True)
    ]
    made: dict[Operator, _Compiled] = {}
    for task, operator, way in zip(tasks, held, fit(choices, weight_bytes), strict=True):
        artifact = compile_nest(way.schedule.loops, target, f"op{len(made)}")
        shapes = {t.name: t.shape for t in task.expression.inputs}
        made[operator] = _Compiled(task, artifact, shapes, way.tuned)
    return made


# Constants as kernels read them, by identity, kernel and parameter; the first array holds the id.
_Ready = dict[tuple[int, str, str], tuple[np.ndarray, np.ndarray]]


def _place(
    buffer: Buffer, node: Node, graph: Graph, work: Bound, made: _Compiled, ready: _Ready
) -> str | np.ndarray | Buffer:
    """Return what a parameter of a node's kernel is; each constant is packed once."""
    if buffer.scope == "output":
        return node.output.name
    if buffer.scope == "workspace":
        return buffer
    name = buffer.source or buffer.name
    value = work.given[name]
    array = _constant(graph, value)
    if array is None:
        assert isinstance(value, str)
        return value
    key = (id(array), made.artifact.name, buffer.name)
    if key not in ready:
        shaped = array.reshape(made.shapes[name])
        ready[key] = array, aligned(packed(buffer, shaped) if buffer.source else shaped)
    return ready[key][1]


def _constant(graph: Graph, value: str | np.ndarray) -> np.ndarray | None:
    """Return an array that is given as it is or by its name; None if the graph computes it."""
    return graph.constants.get(value) if isinstance(value, str) else value


def _check_memory(model: Model) -> None:
    """Refuse a network whose inputs and outputs, or one of its values, exceed the memory."""
    values = model.graph.values
    ends = [*model.graph.inputs, *(values[name] for name in dict.fromkeys(model.graph.outputs))]
    wanted, there = sum(value.nbytes for value in ends), physical()
    largest = max((value.nbytes for value in values.values()), default=0)
    if max(wanted, largest) > there:
        most = max(values.values(), key=lambda value: value.nbytes)
        raise ModelError(
            f"cannot compile this network: it needs {max(wanted, largest):,} bytes for its values, "
            f"of which {most} is the largest, and this machine has {there:,}. Give smaller shapes."
        )
