"""ONNX Runtime: all graph optimisations, inputs and outputs bound, so that no call copies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime

from benchmarks.peers import onnx_models
from benchmarks.peers.work import Convolution, Matmul, Subject

NAME = "onnxruntime"


def versions() -> str:
    return f"onnxruntime {onnxruntime.__version__}"


def convolution(work: Convolution, threads: int) -> list[Subject]:
    data = np.ascontiguousarray(work.data.transpose(0, 3, 1, 2))
    subject = _subject(onnx_models.convolution(work), threads, data)
    return [Subject(NAME, subject.run, lambda: subject.result().transpose(0, 2, 3, 1))]


def matmul(work: Matmul, threads: int) -> list[Subject]:
    return [_subject(onnx_models.matmul(work), threads, work.a)]


def network(path: Path, threads: int, data: np.ndarray) -> list[Subject]:
    return [_subject(path.read_bytes(), threads, data)]


def _subject(model: bytes, threads: int, data: np.ndarray) -> Subject:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input(session.get_inputs()[0].name, data)
    binding.bind_output(session.get_outputs()[0].name)
    return Subject(
        NAME,
        lambda: session.run_with_iobinding(binding),
        lambda: binding.copy_outputs_to_cpu()[0],
        holds=data,
    )
