"""Work that memory limits, with its answer, and the same work in PyTorch and ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import tilewright as tw
from benchmarks.peers.work import Subject
from tilewright.expr.interpret import evaluate
from tilewright.ops.matvec import MatVec
from tilewright.ops.norm import LayerNorm
from tilewright.ops.softmax import Softmax
from tilewright.tuning.task import Operator

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Rows:
    """One benchmark: what to compute, and the ONNX operator that does (its inputs in order)."""

    name: str
    operator: Operator | tw.Tensor
    onnx: str
    attributes: dict[str, Any]
    inputs: tuple[str, ...]  # names of our tensors, in the order of the operator's inputs

    @cached_property
    def expression(self) -> tw.Tensor:
        return self.operator if isinstance(self.operator, tw.Tensor) else self.operator.expression()

    @cached_property
    def data(self) -> dict[str, Array]:
        rng = np.random.default_rng(0)
        return {t.name: rng.standard_normal(t.shape, np.float32) for t in self.expression.inputs}

    @cached_property
    def answer(self) -> Array:
        return evaluate(self.expression, self.data)[self.expression.name]

    @cached_property
    def largest(self) -> Array:
        """What is read most of, in one dimension."""
        return max(self.data.values(), key=lambda array: array.nbytes).ravel()

    @property
    def nbytes(self) -> int:
        """Bytes read and written, each once."""
        return sum(a.nbytes for a in self.data.values()) + 4 * self.answer.size


def gelu(size: int) -> tw.Tensor:
    x = tw.tensor("X", (size,))
    return tw.compute("gelu", (size,), lambda i: x[i] * 0.5 * (tw.erf(x[i] * 0.5**0.5) + 1.0))


WORK: dict[str, Rows] = {
    work.name: work
    for work in (
        Rows("softmax", Softmax((1024, 1024)), "Softmax", {"axis": -1}, ("X",)),
        Rows(
            "layer norm", LayerNorm((512, 768)), "LayerNormalization",
            {"axis": -1, "epsilon": 1e-5}, ("X", "S", "B"),
        ),
        Rows("gelu", gelu(1 << 20), "Gelu", {}, ("X",)),
        Rows("matvec", MatVec(4096, 4096), "MatMul", {}, ("W", "X")),
    )
}  # fmt: skip


def subjects(work: Rows, threads: int) -> tuple[list[Subject], list[str], list[str]]:
    """Return the work in each library that is installed, their versions, and what is missing."""
    found, versions, absent = list[Subject](), list[str](), list[str]()
    for library, make in (("torch", _torch), ("onnxruntime", _onnxruntime)):
        try:
            found += make(work, threads)
            versions.append(f"{library} {__import__(library).__version__}")
        except ImportError as error:
            absent.append(f"{library} is skipped: {error}")
    return found, versions, absent


def _torch(work: Rows, threads: int) -> list[Subject]:
    import torch
    from torch.nn import functional

    torch.set_num_threads(threads)
    given = [torch.from_numpy(work.data[name]) for name in work.inputs]
    calls: dict[str, Callable[..., torch.Tensor]] = {
        "softmax": lambda x: functional.softmax(x, -1),
        "layer norm": lambda x, s, b: functional.layer_norm(x, x.shape[-1:], s, b, 1e-5),
        "gelu": lambda x: functional.gelu(x),
        "matvec": lambda w, x: w @ x,
    }
    call, made = calls[work.name], list[Any]()

    @torch.inference_mode()
    def run() -> None:
        made[:] = [call(*given)]

    run()
    return [Subject("pytorch eager", run, lambda: made[0].numpy(), holds=given)]


def _onnxruntime(work: Rows, threads: int) -> list[Subject]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    model = _model(work).SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for given in session.get_inputs():
        binding.bind_cpu_input(given.name, work.data[given.name])
    binding.bind_output("y")
    return [
        Subject(
            "onnxruntime",
            lambda: session.run_with_iobinding(binding),
            lambda: binding.copy_outputs_to_cpu()[0],
            holds=work.data,
        )
    ]


def _model(work: Rows) -> Any:
    """Return the work as an ONNX model; what is constant is part of it."""
    constants = {t.name for t in work.expression.inputs if t.constant}
    nodes = [helper.make_node(work.onnx, list(work.inputs), ["y"], **work.attributes)]
    graph = helper.make_graph(
        nodes,
        "work",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, work.data[name].shape)
            for name in work.inputs
            if name not in constants
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, work.answer.shape)],
        [numpy_helper.from_array(work.data[n], n) for n in work.inputs if n in constants],
    )
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 20)])
