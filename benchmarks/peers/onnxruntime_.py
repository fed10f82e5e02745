"""ONNX Runtime: all graph optimisations, inputs and outputs bound, so that no call copies."""

from __future__ import annotations

import numpy as np
import onnxruntime

from benchmarks.peers import onnx_models
from benchmarks.peers.onnx_peer import OnnxPeer
from benchmarks.peers.work import Chain, Convolution, Subject, fitting, named

NAME = "onnxruntime"
SETTINGS = (
    "CPU provider, all graph optimisations, intra-op threads set, inputs and outputs bound; "
    "`nchw`: without the optimisation that blocks channels"
)


def versions() -> str:
    return f"onnxruntime {onnxruntime.__version__}"


def convolution(work: Convolution | Chain, threads: int, *, layouts: bool = False) -> list[Subject]:
    data = np.ascontiguousarray(work.data.transpose(0, 3, 1, 2))
    model = onnx_models.convolution(work)
    subjects = [_subject(model, threads, data)]
    if layouts:
        subjects.append(_subject(model, threads, data, variant="nchw", blocked=False))
    return [subject.channels_last() for subject in subjects]


def _subject(
    model: bytes, threads: int, *data: np.ndarray, variant: str = "", blocked: bool = True
) -> Subject:
    level = onnxruntime.GraphOptimizationLevel
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = (
        level.ORT_ENABLE_ALL if blocked else level.ORT_ENABLE_EXTENDED
    )
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    given = [
        fitting(array, len(wanted.shape))
        for wanted, array in zip(session.get_inputs(), data, strict=True)
    ]
    for wanted, array in zip(session.get_inputs(), given, strict=True):
        binding.bind_cpu_input(wanted.name, array)
    for made in session.get_outputs():
        binding.bind_output(made.name)
    return Subject(
        named(NAME, variant),
        lambda: session.run_with_iobinding(binding),
        lambda: binding.copy_outputs_to_cpu()[0],
        holds=given,
        others=lambda: binding.copy_outputs_to_cpu()[1:],
    )


_PEER = OnnxPeer(_subject)
matmul, rows, network = _PEER.matmul, _PEER.rows, _PEER.network
