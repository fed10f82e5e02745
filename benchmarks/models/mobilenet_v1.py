"""Write MobileNet v1 as ONNX: `python -m benchmarks.models.mobilenet_v1 mobilenet_v1.onnx`.

The architecture is that of Howard et al., 2017, at width 1: depthwise and pointwise convolutions
in turn, each with batch normalisation and ReLU6, which ONNX spells Clip. Weights are random.
"""

from __future__ import annotations

import numpy as np
import onnx

from benchmarks.models.net import Net, command

# Of each depthwise convolution the stride, and the channels of the pointwise one, by 32.
LAYERS = (
    (1, 2), (2, 4), (1, 4), (2, 8), (1, 8), (2, 16), *[(1, 16)] * 5, (2, 32), (1, 32),
)  # fmt: skip


def build(
    image: int = 224, width: int = 32, *, classes: int = 1000, batch: int = 1, seed: int = 0
) -> onnx.ModelProto:
    """Return the net for `batch` images of 3 x `image` x `image`, `width` channels at first."""
    net = Net("mobilenet_v1", seed)
    limits = (net.constant("zero", np.array(0.0)), net.constant("six", np.array(6.0)))

    def layer(name: str, x: str, channels: int, made: int, kernel: int, stride: int) -> str:
        """A convolution, depthwise unless it is the first or has a kernel of one."""
        groups = channels if kernel > 1 and channels == made else 1
        x = net.conv(name, x, channels, made, kernel, stride, groups=groups)
        x = net.normalise(f"{name}.bn", x, made)
        return net.node("Clip", f"{name}.relu6", [x, *limits])

    x = layer("conv1", net.input("input", [batch, 3, image, image]), 3, width, 3, 2)
    channels = width
    for i, (stride, times) in enumerate(LAYERS):
        x = layer(f"layer{i}.depthwise", x, channels, channels, 3, stride)
        x = layer(f"layer{i}.pointwise", x, channels, width * times, 1, 1)
        channels = width * times
    x = net.node("GlobalAveragePool", "avgpool", [x])
    x = net.node("Flatten", "flatten", [x], axis=1)
    net.dense("fc", x, channels, classes, net.output("output", [batch, classes]))
    return net.finish()


if __name__ == "__main__":
    command("mobilenet_v1", build)
