"""Convolutions of 8-bit integers in other libraries: ONNX Runtime, OpenVINO and LiteRT.

ONNX Runtime computes QLinearConv (8 bits again) channels first, as the standard has it, and
channels last, as its own optimisations would; and ConvInteger (int32 sums). OpenVINO is given the
form with DequantizeLinear and QuantizeLinear, of which it makes one integer convolution and puts
data in its own order before and after. With its input channels last it takes bfloat16 instead, so
only its output may be; a chain of convolutions shows what one takes in the middle of a network.
LiteRT works in int8, channels last.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from benchmarks.peers.work import Convolution, Subject

if TYPE_CHECKING:
    from openvino import InferRequest

CHAIN = 8  # convolutions
CHAINED = "openvino chained"  # its time is for all of them
SETTINGS = {
    "onnxruntime": "QLinearConv, ConvInteger, all graph optimisations, threads set, inputs bound",
    "openvino": "convolution read back as one in 8 bits, latency hint, 1 stream, threads set",
    "ai_edge_litert": "XNNPACK, int8 data (uint8 less 128), weights scaled by channel, threads set",
}
ZERO = np.uint8(0)
SCALE = np.float32(1 / 64)  # of data and results: it cancels out


@dataclass(frozen=True)
class IntegerConvolution:
    """A convolution of uint8 with int8; sums are scaled by channel and rounded to uint8."""

    of: Convolution

    @cached_property
    def data(self) -> np.ndarray:
        shape = (self.of.n, self.of.size, self.of.size, self.of.ci)
        return np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)

    @cached_property
    def weights(self) -> np.ndarray:
        shape = (self.of.kernel, self.of.kernel, self.of.ci, self.of.co)
        return np.random.default_rng(1).integers(-127, 128, shape).astype(np.int8)

    @cached_property
    def scale(self) -> np.ndarray:
        """By what sums are multiplied, for each channel: results fill most of uint8."""
        spread = 255 * 127 * (self.of.ci * self.of.kernel**2) ** 0.5 / 3
        share = np.random.default_rng(2).uniform(0.5, 1.0, self.of.co)
        return (share * 127 / spread).astype(np.float32)

    @cached_property
    def sums(self) -> np.ndarray:
        """The int32 sums, (n, made, made, co)."""
        pad, made, stride = self.of.padding, self.of.made, self.of.stride
        around = ((0, 0), (pad, pad), (pad, pad), (0, 0))
        x, w = np.pad(self.data, around).astype(np.float64), self.weights.astype(np.float64)
        total = np.zeros((self.of.n, made, made, self.of.co))
        reach = (made - 1) * stride + 1
        for ky in range(self.of.kernel):
            for kx in range(self.of.kernel):
                part = x[:, ky : ky + reach : stride, kx : kx + reach : stride]
                total += part @ w[ky, kx]  # exact: far below 2^53
        return total.astype(np.int32)

    @property
    def answer(self) -> np.ndarray:
        """The result as uint8."""
        real = np.rint(self.sums.astype(np.float32) * self.scale)
        return np.clip(real, 0, 255).astype(np.uint8)


def libraries() -> tuple[list[tuple[str, str]], list[str]]:
    """Return versions and settings of what is installed, and a sentence for what is not."""
    found: list[tuple[str, str]] = []
    absent: list[str] = []
    for name, settings in SETTINGS.items():
        try:
            importlib.import_module(name)
            version = importlib.metadata.version(name.replace("_", "-"))
            found.append((f"{name} {version}", settings))
        except ImportError as error:
            absent.append(f"{name} is skipped: {error}")
    return found, absent


def subjects(work: IntegerConvolution, threads: int) -> tuple[list[Subject], list[Subject]]:
    """Return what computes `answer`, a chain at the end, and what computes `sums`."""
    rounded, sums = list[Subject](), list[Subject]()
    present = {text.split()[0] for text, _ in libraries()[0]}
    if "onnxruntime" in present:
        rounded, sums = onnxruntime(work, threads)
    if "openvino" in present:
        chain = openvino_chain(work, threads)
        rounded += openvino(work, threads) + ([chain] if chain else [])
    if "ai_edge_litert" in present:
        rounded.insert(0, litert(work, threads))
    return rounded, sums


def onnxruntime(work: IntegerConvolution, threads: int) -> tuple[list[Subject], list[Subject]]:
    """Return subjects that compute `answer`, and subjects that compute `sums`."""
    first = np.ascontiguousarray(work.data.transpose(0, 3, 1, 2))
    last = work.data
    rounded = [
        _ort("onnxruntime", _qlinear(work, last=False), threads, first, moved=True),
        _ort("onnxruntime nhwc", _qlinear(work, last=True), threads, last, moved=False),
    ]
    return rounded, [_ort("onnxruntime", _conv_integer(work), threads, first, moved=True)]


def openvino(work: IntegerConvolution, threads: int) -> list[Subject]:
    """Return subjects that compute `answer`; raise RuntimeError if they do not use integers."""
    return [_openvino(work, threads, last=last) for last in (False, True)]


def litert(work: IntegerConvolution, threads: int) -> Subject:
    """Return a subject that computes `answer`, in int8: all of uint8 less 128."""
    from benchmarks.peers.litert_ import subject
    from benchmarks.peers.tflite import Quantized, Writer

    writer, eight = Writer(), Quantized((float(SCALE),), -128)
    x = writer.value(work.data.shape, eight)
    made = writer.convolution(
        writer.pad(x, (work.of.padding,) * 4), work.weights, np.zeros(work.of.co, np.int32),
        (work.of.stride,) * 2, scales=Quantized(tuple(work.scale.tolist())), made=eight,
    )  # fmt: skip
    data = (work.data.astype(np.int16) - 128).astype(np.int8)
    inner = subject(writer.finish([x], made), threads, data)
    return replace(inner, result=lambda: (inner.result().astype(np.int16) + 128).astype(np.uint8))


def openvino_chain(work: IntegerConvolution, threads: int) -> Subject | None:
    """Return a subject that convolves `CHAIN` times; None if results do not fit data again."""
    first, last = _shapes(work, last=False)
    if first != last:
        return None
    request = _request(work, threads, last=False, length=CHAIN)
    return Subject(CHAINED, request.infer, lambda: np.zeros(0), request)


def _ort(name: str, model: bytes, threads: int, data: np.ndarray, *, moved: bool) -> Subject:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    # Or sums of products of bytes saturate at 16 bits, where the CPU has no instruction for them.
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input("x", data)
    binding.bind_output("y")

    def result() -> np.ndarray:
        made = binding.copy_outputs_to_cpu()[0]
        return made.transpose(0, 2, 3, 1) if moved else made

    return Subject(name, lambda: session.run_with_iobinding(binding), result, holds=data)


def _openvino(work: IntegerConvolution, threads: int, *, last: bool) -> Subject:
    request = _request(work, threads, last=last)

    def result() -> np.ndarray:
        made = np.array(request.get_output_tensor(0).data)
        return made if last else made.transpose(0, 2, 3, 1)

    return Subject("openvino to nhwc" if last else "openvino", request.infer, result, request)


def _request(
    work: IntegerConvolution, threads: int, *, last: bool, length: int = 1
) -> InferRequest:
    import openvino as ov

    core = ov.Core()
    model = core.read_model(_quantized(work, length))
    if last:
        both = ov.preprocess.PrePostProcessor(model)
        both.output().tensor().set_layout(ov.Layout("NHWC"))
        both.output().model().set_layout(ov.Layout("NCHW"))
        model = both.build()
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": "1",
        "INFERENCE_NUM_THREADS": threads,
        "ENABLE_CPU_PINNING": False,  # the benchmark pins the process
    }
    compiled = core.compile_model(model, "CPU", settings)
    found = [node.get_rt_info() for node in compiled.get_runtime_model().get_ops()]
    kinds = [
        str(info["primitiveType"].value)
        for info in found
        if info["layerType"].value == "Convolution"
    ]
    if [kind.rpartition("_")[2] for kind in kinds] != ["I8"] * length:
        raise RuntimeError(f"OpenVINO computes the convolution by {kinds}, not in integers")
    request = compiled.create_infer_request()
    data = np.ascontiguousarray(work.data.transpose(0, 3, 1, 2))
    request.set_input_tensor(0, ov.Tensor(data))
    return request


def _shapes(work: IntegerConvolution, *, last: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    of = work.of
    if last:
        return (of.n, of.size, of.size, of.ci), (of.n, of.made, of.made, of.co)
    return (of.n, of.ci, of.size, of.size), (of.n, of.co, of.made, of.made)


def _attributes(work: IntegerConvolution) -> dict[str, list[int]]:
    return {
        "strides": [work.of.stride] * 2,
        "pads": [work.of.padding] * 4,
        "kernel_shape": [work.of.kernel] * 2,
    }


def _constants(work: IntegerConvolution) -> dict[str, np.ndarray]:
    return {
        "w": np.ascontiguousarray(work.weights.transpose(3, 2, 0, 1)),
        "x_scale": SCALE,
        "x_zero": ZERO,
        "w_scale": work.scale,
        "w_zero": np.zeros(work.of.co, np.int8),
        "y_scale": SCALE,
        "y_zero": ZERO,
    }


def _qlinear(work: IntegerConvolution, *, last: bool) -> bytes:
    names = ["x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero"]
    extra = {"domain": "com.microsoft", "channels_last": 1} if last else {}
    node = helper.make_node("QLinearConv", names, ["y"], **_attributes(work), **extra)
    return _model(work, [node], _constants(work), TensorProto.UINT8, last=last)


def _conv_integer(work: IntegerConvolution) -> bytes:
    node = helper.make_node("ConvInteger", ["x", "w"], ["y"], **_attributes(work))
    constants = {"w": _constants(work)["w"]}
    return _model(work, [node], constants, TensorProto.INT32, last=False)


def _quantized(work: IntegerConvolution, length: int = 1) -> bytes:
    weights = ["w", "w_scale", "w_zero"]
    nodes = [helper.make_node("DequantizeLinear", weights, ["weights"], axis=0)]
    data = "x"
    for i in range(length):
        real, sums, made = f"real{i}", f"sums{i}", "y" if i == length - 1 else f"y{i}"
        nodes += [
            helper.make_node("DequantizeLinear", [data, "x_scale", "x_zero"], [real]),
            helper.make_node("Conv", [real, "weights"], [sums], **_attributes(work)),
            helper.make_node("QuantizeLinear", [sums, "y_scale", "y_zero"], [made]),
        ]
        data = made
    return _model(work, nodes, _constants(work), TensorProto.UINT8, last=False)


def _model(
    work: IntegerConvolution,
    nodes: list[NodeProto],
    constants: dict[str, np.ndarray],
    kind: int,
    *,
    last: bool,
) -> bytes:
    x, y = _shapes(work, last=last)
    graph = helper.make_graph(
        nodes,
        "work",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, x)],
        [helper.make_tensor_value_info("y", kind, y)],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString()
