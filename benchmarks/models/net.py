"""What the model builders share: nodes and constants in the making, and the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPERATOR_SET = 17
Shape = Sequence[int]


class Net:
    """A model in the making; its weights are drawn from a seed in the order of its layers.

    Each layer returns the name of what it makes; images are (batch, channels, rows, columns).
    """

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.rng = np.random.default_rng(seed)
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def input(self, name: str, shape: Shape, kind: int = TensorProto.FLOAT) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, shape: Shape) -> str:
        """Declare an output; give its name to the node that makes it."""
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def node(
        self, op: str, name: str, inputs: Sequence[str], output: str = "", **attributes: Any
    ) -> str:
        output = output or f"{name}.out"
        self.nodes.append(helper.make_node(op, inputs, [output], name, **attributes))
        return output

    def constant(self, name: str, array: np.ndarray) -> str:
        """Keep an array, of float32 unless it holds integers."""
        kept = array if array.dtype == np.int64 else array.astype(np.float32)
        self.constants.append(numpy_helper.from_array(kept, name))
        return name

    def weight(self, name: str, shape: Shape, fan_in: int) -> str:
        """He's initialisation: a ReLU after it keeps the variance."""
        return self.constant(name, self.rng.normal(0, np.sqrt(2 / fan_in), shape))

    def bias(self, name: str, made: int) -> str:
        return self.constant(name, self.rng.normal(0, 0.1, made))

    def conv(
        self, name: str, x: str, channels: int, made: int, kernel: int, stride: int = 1, *,
        pad: int | None = None, groups: int = 1, bias: bool = False,
    ) -> str:  # fmt: skip
        """Convolve, with a padding of half the kernel unless `pad` says otherwise."""
        depth = channels // groups
        weight = self.weight(f"{name}.weight", (made, depth, kernel, kernel), depth * kernel**2)
        given = [x, weight, self.bias(f"{name}.bias", made)] if bias else [x, weight]
        pads = [kernel // 2 if pad is None else pad] * 4
        shape, strides = [kernel, kernel], [stride, stride]
        more: dict[str, Any] = {"group": groups} if groups > 1 else {}
        return self.node(
            "Conv", name, given, kernel_shape=shape, strides=strides, pads=pads, **more
        )

    def normalise(self, name: str, x: str, channels: int, scale: float = 1.0) -> str:
        """Normalise by statistics that stand in the model, as exporters write it in training."""
        given = [
            self.constant(f"{name}.weight", scale * self.rng.uniform(0.5, 1.5, channels)),
            self.constant(f"{name}.bias", self.rng.normal(0, 0.1, channels)),
            self.constant(f"{name}.running_mean", self.rng.normal(0, 0.2, channels)),
            self.constant(f"{name}.running_var", self.rng.uniform(0.5, 2.0, channels)),
        ]
        return self.node("BatchNormalization", name, [x, *given], epsilon=1e-5)

    def relu(self, name: str, x: str) -> str:
        return self.node("Relu", name, [x])

    def dense(self, name: str, x: str, channels: int, made: int, output: str = "") -> str:
        weight = self.weight(f"{name}.weight", (made, channels), fan_in=channels)
        bias = self.bias(f"{name}.bias", made)
        return self.node("Gemm", name, [x, weight, bias], output, transB=1)

    def finish(self) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes, self.name, self.inputs, self.outputs, self.constants
        )  # fmt: skip
        return helper.make_model(
            graph,
            producer_name="tilewright",
            ir_version=8,
            opset_imports=[helper.make_opsetid("", OPERATOR_SET)],
        )


def save(model: onnx.ModelProto, path: Path) -> None:
    """Write a model; the same model gives the same bytes."""
    path.write_bytes(model.SerializeToString(deterministic=True))


def command(
    name: str, build: Callable[..., onnx.ModelProto], arguments: Sequence[str] | None = None
) -> None:
    """Write a model as `python -m benchmarks.models.NAME PATH [OPTION=NUMBER ...]` asks."""
    path, *options = (sys.argv[1:] if arguments is None else arguments) or [""]
    known = [p.name for p in signature(build).parameters.values() if isinstance(p.default, int)]
    given = [option.partition("=") for option in options]
    sound = all(key in known and value.isdecimal() for key, _, value in given)
    if not path or path.startswith("-") or not sound:
        sys.exit(
            f"usage: python -m benchmarks.models.{name} PATH [OPTION=NUMBER ...], "
            f"of the options {', '.join(known)}"
        )
    save(build(**{key: int(value) for key, _, value in given}), Path(path))
    print(f"wrote {path}, {Path(path).stat().st_size / 1e6:.1f} MB")
