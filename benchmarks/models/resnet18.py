"""Write ResNet-18 as ONNX: `python -m benchmarks.models.resnet18 resnet18.onnx`.

The architecture is torchvision's; the weights are random, from a seed, and batch normalisation
stands in nodes of its own, as exporters write it in training-preserving mode.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPERATOR_SET = 17
USAGE = "usage: python -m benchmarks.models.resnet18 PATH"


def build(
    image: int = 224,
    width: int = 64,
    blocks: Sequence[int] = (2, 2, 2, 2),
    *,
    classes: int = 1000,
    batch: int = 1,
    seed: int = 0,
) -> onnx.ModelProto:
    """Return the net for `batch` images of 3 x `image` x `image`; the same seed, the same bytes.

    `width` is the number of channels after the first layer; each further stage of `blocks`
    doubles it and halves the image.
    """
    net = _Net(np.random.default_rng(seed))
    x = net.relu("relu", net.conv_bn("conv1", "input", 3, width, kernel=7, stride=2))
    x = net.node("MaxPool", "maxpool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = width
    for stage, count in enumerate(blocks):
        for block in range(count):
            stride = 2 if stage and not block else 1
            x = net.block(f"layer{stage + 1}.{block}", x, channels, width << stage, stride)
            channels = width << stage
    x = net.node("GlobalAveragePool", "avgpool", [x])
    x = net.node("Flatten", "flatten", [x], axis=1)
    weight = net.weight("fc.weight", (classes, channels), fan_in=channels)
    bias = net.constant("fc.bias", net.rng.normal(0, 0.1, classes))
    net.node("Gemm", "fc", [x, weight, bias], output="output", transB=1)
    graph = helper.make_graph(
        net.nodes,
        "resnet18",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [batch, 3, image, image])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [batch, classes])],
        net.constants,
    )
    return helper.make_model(
        graph,
        producer_name="tilewright",
        ir_version=8,
        opset_imports=[helper.make_opsetid("", OPERATOR_SET)],
    )


class _Net:
    """Nodes and constants in the making."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def block(self, name: str, x: str, channels: int, made: int, stride: int) -> str:
        """Two 3 x 3 convolutions, and a way round them: of 1 x 1 where the size changes."""
        y = self.relu(f"{name}.relu", self.conv_bn(f"{name}.conv1", x, channels, made, 3, stride))
        y = self.conv_bn(f"{name}.conv2", y, made, made, 3, 1, scale=0.3)
        if stride != 1 or channels != made:
            x = self.conv_bn(f"{name}.downsample", x, channels, made, 1, stride)
        return self.relu(f"{name}.relu2", self.node("Add", f"{name}.add", [y, x]))

    def conv_bn(
        self,
        name: str,
        x: str,
        channels: int,
        made: int,
        kernel: int,
        stride: int,
        scale: float = 1.0,
    ) -> str:
        """Convolve and normalise; `scale` below one keeps sums of many blocks from growing."""
        weight = self.weight(
            f"{name}.weight", (made, channels, kernel, kernel), channels * kernel**2
        )
        pads, shape, strides = [kernel // 2] * 4, [kernel, kernel], [stride, stride]
        y = self.node("Conv", name, [x, weight], kernel_shape=shape, strides=strides, pads=pads)
        normalise = [
            self.constant(f"{name}.bn.weight", scale * self.rng.uniform(0.5, 1.5, made)),
            self.constant(f"{name}.bn.bias", self.rng.normal(0, 0.1, made)),
            self.constant(f"{name}.bn.running_mean", self.rng.normal(0, 0.2, made)),
            self.constant(f"{name}.bn.running_var", self.rng.uniform(0.5, 2.0, made)),
        ]
        return self.node("BatchNormalization", f"{name}.bn", [y, *normalise], epsilon=1e-5)

    def relu(self, name: str, x: str) -> str:
        return self.node("Relu", name, [x])

    def node(
        self, op: str, name: str, inputs: list[str], output: str = "", **attributes: Any
    ) -> str:
        output = output or f"{name}.out"
        self.nodes.append(helper.make_node(op, inputs, [output], name, **attributes))
        return output

    def weight(self, name: str, shape: Sequence[int], fan_in: int) -> str:
        """He's initialisation: a ReLU after it keeps the variance."""
        return self.constant(name, self.rng.normal(0, np.sqrt(2 / fan_in), shape))

    def constant(self, name: str, array: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name


def save(model: onnx.ModelProto, path: Path) -> None:
    """Write a model; the same model gives the same bytes."""
    path.write_bytes(model.SerializeToString(deterministic=True))


def main(arguments: Sequence[str]) -> None:
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.exit(USAGE)
    path = Path(arguments[0])
    save(build(), path)
    print(f"wrote {path}, {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
