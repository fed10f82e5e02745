"""Compile a network untuned and compare what it computes with ONNX Runtime."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
import onnxruntime

from benchmarks.packages.inputs import drawn
from benchmarks.packages.network import Network
from tilewright.errors import TilewrightError
from tilewright.graph.compile import compile
from tilewright.graph.model import load_onnx

Array = np.ndarray[Any, Any]
Verdict = Literal["agrees", "wrong", "refused", "crashed", "absent"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a network; `off` is relative to the largest value of an output.

    `detail` is why it does not agree. A network is absent if its package could not be had.
    """

    verdict: Verdict
    operators: int = 0
    seconds: float | None = None
    off: float | None = None
    detail: str = ""


def check(network: Network, path: Path) -> Outcome:
    """Return how the compiled network compares, on inputs from a seed."""
    graph = onnx.load(path, load_external_data=False).graph
    operators, feeds = len(graph.node), feeds_of(network, graph)
    shapes = {name: array.shape for name, array in feeds.items()}
    begin = time.perf_counter()
    try:
        module = compile(load_onnx(path, shapes))
        seconds = time.perf_counter() - begin
        results = module(*(feeds[value.name] for value in module.inputs))
    except TilewrightError as error:
        return Outcome("refused", operators, detail=str(error).replace(str(path), path.name))
    outputs = results if isinstance(results, tuple) else (results,)
    names = [output.name for output in graph.output]
    problems, off = compared(names, outputs, by_onnxruntime(path, feeds), network.tolerance)
    verdict = "wrong" if problems else "agrees"
    return Outcome(verdict, operators, seconds, off, "\n".join(problems))


def feeds_of(network: Network, graph: onnx.GraphProto) -> dict[str, Array]:
    """Return an array for each input of a model, always the same."""
    rng = np.random.default_rng(0)
    stored = {tensor.name for tensor in graph.initializer}
    inputs = [proto for proto in graph.input if proto.name not in stored]
    return {
        proto.name: drawn(
            entry, onnx.helper.tensor_dtype_to_np_dtype(proto.type.tensor_type.elem_type), rng
        )
        for proto, entry in zip(inputs, network.inputs, strict=True)
    }


def by_onnxruntime(path: Path, feeds: Mapping[str, Array]) -> list[Array]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3  # it warns of weights that nothing reads
    # Or sums of products of bytes saturate at 16 bits, where the CPU has no instruction for them.
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return [np.asarray(array) for array in session.run(None, dict(feeds))]


def compared(
    names: Sequence[str], outputs: Sequence[Array], wanted: Sequence[Array], tolerance: float
) -> tuple[list[str], float]:
    """Return what is wrong with outputs, and by how much the worst is off, of its largest value."""
    problems: list[str] = []
    worst = 0.0
    for name, ours, theirs in zip(names, outputs, wanted, strict=True):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            problems.append(
                f"output {name!r} is {ours.dtype}{list(ours.shape)}, "
                f"not {theirs.dtype}{list(theirs.shape)}"
            )
            continue
        off = difference(ours, theirs)
        worst = max(worst, off)
        if not off <= tolerance:
            problems.append(f"output {name!r} is off by {off:.2g} of its largest value")
    return problems, worst


def difference(ours: Array, theirs: Array) -> float:
    """Return the largest difference over the largest value of `theirs`.

    It is infinite where one is not finite and the other differs.

    >>> difference(np.array([1.0, 4.1]), np.array([1.0, 4.0])) < 0.026
    True
    >>> difference(np.array([np.nan, 1.0]), np.array([1.0, 1.0]))
    inf
    """
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    finite = np.isfinite(b)
    alike = np.array_equal(a[~finite], b[~finite], equal_nan=True)
    if not alike or not np.isfinite(a[finite]).all():
        return float("inf")
    off = float(np.abs(a[finite] - b[finite]).max(initial=0))
    return off / float(np.abs(b[finite]).max(initial=0) or 1)
