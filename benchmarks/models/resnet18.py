"""Write ResNet-18 as ONNX: `python -m benchmarks.models.resnet18 resnet18.onnx`.

The architecture is torchvision's; the weights are random, from a seed, and batch normalisation
stands in nodes of its own, as exporters write it in training-preserving mode.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from benchmarks.models.net import Net, command, save

__all__ = ["build", "save"]


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
    net = Net("resnet18", seed)
    x = net.input("input", [batch, 3, image, image])
    x = net.relu("relu", _conv_bn(net, "conv1", x, 3, width, kernel=7, stride=2))
    x = net.node("MaxPool", "maxpool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = width
    for stage, count in enumerate(blocks):
        for block in range(count):
            stride = 2 if stage and not block else 1
            x = _block(net, f"layer{stage + 1}.{block}", x, channels, width << stage, stride)
            channels = width << stage
    x = net.node("GlobalAveragePool", "avgpool", [x])
    x = net.node("Flatten", "flatten", [x], axis=1)
    net.dense("fc", x, channels, classes, net.output("output", [batch, classes]))
    return net.finish()


def _block(net: Net, name: str, x: str, channels: int, made: int, stride: int) -> str:
    """Two 3 x 3 convolutions, and a way round them: of 1 x 1 where the size changes."""
    y = net.relu(f"{name}.relu", _conv_bn(net, f"{name}.conv1", x, channels, made, 3, stride))
    y = _conv_bn(net, f"{name}.conv2", y, made, made, 3, 1, scale=0.3)
    if stride != 1 or channels != made:
        x = _conv_bn(net, f"{name}.downsample", x, channels, made, 1, stride)
    return net.relu(f"{name}.relu2", net.node("Add", f"{name}.add", [y, x]))


def _conv_bn(
    net: Net, name: str, x: str, channels: int, made: int, kernel: int, stride: int,
    scale: float = 1.0,
) -> str:  # fmt: skip
    """Convolve and normalise; `scale` below one keeps sums of many blocks from growing."""
    return net.normalise(
        f"{name}.bn", net.conv(name, x, channels, made, kernel, stride), made, scale
    )


if __name__ == "__main__":
    command("resnet18", build)
