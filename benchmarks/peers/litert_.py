"""LiteRT (once TensorFlow Lite): XNNPACK, channels last, the models written without TensorFlow."""

from __future__ import annotations

import importlib.metadata
from dataclasses import replace
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter

from benchmarks.peers.rows import EPSILON, Rows
from benchmarks.peers.tflite import Writer
from benchmarks.peers.tflite_graph import written
from benchmarks.peers.work import Chain, Convolution, Matmul, Subject, fitting

NAME = "litert"
SETTINGS = "XNNPACK, its default delegate; channels last, weights constant, num_threads set"


def versions() -> str:
    return f"ai-edge-litert {importlib.metadata.version('ai-edge-litert')}"


def convolution(
    work: Convolution | Chain,
    threads: int,
    *,
    layouts: bool = False,  # noqa: ARG001 it has but one
) -> list[Subject]:
    writer = Writer()
    x = value = writer.value(work.data.shape)
    for layer in work.layers:
        value = writer.convolution(
            writer.pad(value, (layer.padding,) * 4), layer.weights, layer.biases,
            (layer.stride,) * 2, activation="RELU" if layer.relu else "NONE",
        )  # fmt: skip
    return [subject(writer.finish([x], value), threads, work.data)]


def matmul(work: Matmul, threads: int) -> list[Subject]:
    writer = Writer()
    x = writer.value(work.a.shape)
    return [subject(writer.finish([x], writer.dense(x, work.b)), threads, work.a)]


def rows(work: Rows, threads: int) -> list[Subject]:
    writer = Writer()
    data = [fitting(array, 2) if work.onnx == "MatMul" else array for array in work.varying]
    inputs = [writer.value(array.shape) for array in data]
    x = inputs[0]
    match work.onnx:
        case "Softmax":
            made = writer.softmax(x)
        case "Gelu":
            made = writer.gelu(x)
        case "MatMul":
            made = writer.dense(x, work.data["W"].T)
        case "LayerNormalization":  # which the schema lacks: by its parts, as TensorFlow has it
            scale, shift = (writer.constant(work.data[name]) for name in work.inputs[1:])
            made = writer.layer_norm(x, scale, shift, EPSILON)
        case _:
            raise NotImplementedError(f"LiteRT is not given {work.onnx} here")
    return [subject(writer.finish(inputs, made), threads, *data)]


def network(path: Path, threads: int, *data: np.ndarray) -> list[Subject]:
    """Prepare the ONNX model at `path`, its batch normalisations folded, channels last."""
    made = subject(written(path), threads, *map(_moved, data))

    def result() -> np.ndarray:
        output = made.result()
        return output.transpose(0, 3, 1, 2) if output.ndim == 4 else output

    return [replace(made, result=result)]


def subject(model: bytes, threads: int, *data: np.ndarray) -> Subject:
    interpreter = Interpreter(model_content=model, num_threads=threads)
    interpreter.allocate_tensors()
    for given, array in zip(interpreter.get_input_details(), data, strict=True):
        interpreter.set_tensor(given["index"], array)
    made, *others = (output["index"] for output in interpreter.get_output_details())
    return Subject(
        NAME,
        interpreter.invoke,
        lambda: interpreter.get_tensor(made),
        holds=model,
        others=lambda: [interpreter.get_tensor(other) for other in others],
    )


def _moved(array: np.ndarray) -> np.ndarray:
    """Return images channels last, and integers as TensorFlow's converter takes them."""
    if array.ndim == 4:
        return np.ascontiguousarray(array.transpose(0, 2, 3, 1))
    return array.astype(np.int32) if array.dtype == np.int64 else array
