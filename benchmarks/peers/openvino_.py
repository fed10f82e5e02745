"""OpenVINO: one stream, tuned for latency, and float32 forced (else it may take bfloat16)."""

from __future__ import annotations

import numpy as np
import openvino

from benchmarks.peers import onnx_models
from benchmarks.peers.onnx_peer import OnnxPeer
from benchmarks.peers.work import Chain, Convolution, Subject, fitting, named

NAME = "openvino"
SETTINGS = (
    "f32 forced and read back, latency hint, 1 stream, inference threads set, its pinning off; "
    "`nhwc`: inputs and outputs channels last"
)


def versions() -> str:
    return f"openvino {openvino.__version__}"


def convolution(work: Convolution | Chain, threads: int, *, layouts: bool = False) -> list[Subject]:
    data = np.ascontiguousarray(work.data.transpose(0, 3, 1, 2))
    model = onnx_models.convolution(work)
    subjects = [_subject(model, threads, data).channels_last()]
    if layouts:
        subjects.append(_subject(model, threads, work.data, variant="nhwc", last=True))
    return subjects


def _subject(
    model: bytes, threads: int, *data: np.ndarray, variant: str = "", last: bool = False
) -> Subject:
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": "1",
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
        "ENABLE_CPU_PINNING": False,  # the benchmark pins the process
    }
    core = openvino.Core()
    read = core.read_model(model)
    compiled = core.compile_model(_channels_last(read) if last else read, "CPU", settings)
    precision = compiled.get_property("INFERENCE_PRECISION_HINT")
    if precision != openvino.Type.f32:
        raise RuntimeError(f"OpenVINO computes in {precision}, though float32 was asked for")
    request = compiled.create_infer_request()
    for i, array in enumerate(data):
        given = fitting(array, len(compiled.input(i).partial_shape))
        request.set_input_tensor(i, openvino.Tensor(given))
    others = range(1, len(compiled.outputs))
    return Subject(
        named(NAME, variant),
        request.infer,
        lambda: np.array(request.get_output_tensor(0).data),
        holds=data,
        others=lambda: [np.array(request.get_output_tensor(i).data) for i in others],
    )


_PEER = OnnxPeer(_subject)
matmul, rows, network = _PEER.matmul, _PEER.rows, _PEER.network


def _channels_last(model: openvino.Model) -> openvino.Model:
    """Let the input and the output be channels last, whatever the model's layout inside."""
    both = openvino.preprocess.PrePostProcessor(model)
    for end in both.input(), both.output():
        end.tensor().set_layout(openvino.Layout("NHWC"))
        end.model().set_layout(openvino.Layout("NCHW"))
    return both.build()
