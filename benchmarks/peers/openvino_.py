"""OpenVINO: one stream, tuned for latency, and float32 forced (else it may take bfloat16)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino

from benchmarks.peers import onnx_models
from benchmarks.peers.work import Convolution, Matmul, Subject

NAME = "openvino"


def versions() -> str:
    return f"openvino {openvino.__version__}"


def convolution(work: Convolution, threads: int) -> list[Subject]:
    data = np.ascontiguousarray(work.data.transpose(0, 3, 1, 2))
    subject = _subject(onnx_models.convolution(work), threads, data)
    return [Subject(NAME, subject.run, lambda: subject.result().transpose(0, 2, 3, 1))]


def matmul(work: Matmul, threads: int) -> list[Subject]:
    return [_subject(onnx_models.matmul(work), threads, work.a)]


def network(path: Path, threads: int, data: np.ndarray) -> list[Subject]:
    return [_subject(path.read_bytes(), threads, data)]


def _subject(model: bytes, threads: int, data: np.ndarray) -> Subject:
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": "1",
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
        "ENABLE_CPU_PINNING": False,  # the benchmark pins the process
    }
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(model), "CPU", settings)
    precision = compiled.get_property("INFERENCE_PRECISION_HINT")
    if precision != openvino.Type.f32:
        raise RuntimeError(f"OpenVINO computes in {precision}, though float32 was asked for")
    request = compiled.create_infer_request()
    request.set_input_tensor(0, openvino.Tensor(data))
    return Subject(NAME, request.infer, lambda: np.array(request.get_output_tensor(0).data))
