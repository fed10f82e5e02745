"""Write DCGAN's generator as ONNX: `python -m benchmarks.models.dcgan dcgan.onnx`.

The architecture is that of Radford et al., 2015: a vector of noise becomes an image of 64 x 64 by
transposed convolutions, each with batch normalisation and ReLU, the last with tanh. Weights are
random, from a seed.
"""

from __future__ import annotations

import numpy as np
import onnx

from benchmarks.models.net import Net, command

NOISE = 100


def build(
    width: int = 64, *, noise: int = NOISE, doublings: int = 4, batch: int = 1, seed: int = 0
) -> onnx.ModelProto:
    """Return the net that makes `batch` images of 3 x 64 x 64 of as many vectors of `noise`.

    It begins at 4 x 4 and doubles that; `width` is the number of channels before the last layer.
    """
    net = Net("dcgan", seed)

    def grow(name: str, x: str, channels: int, made: int, stride: int, output: str = "") -> str:
        """A transposed convolution of 4 x 4: of one pixel, or to twice the rows and columns."""
        inputs = channels * 16 // stride**2  # that meet in one output
        weight = net.constant(
            f"{name}.weight", net.rng.normal(0, np.sqrt(2 / inputs), (channels, made, 4, 4))
        )
        pads, strides = [stride // 2] * 4, [stride, stride]
        return net.node(
            "ConvTranspose",
            name,
            [x, weight],
            output,
            kernel_shape=[4, 4],
            strides=strides,
            pads=pads,
        )

    x = net.input("input", [batch, noise, 1, 1])
    channels = noise
    for i in range(doublings):
        made = width << (doublings - 1 - i)
        x = grow(f"grow{i}", x, channels, made, 2 if i else 1)
        x = net.relu(f"relu{i}", net.normalise(f"grow{i}.bn", x, made))
        channels = made
    x = grow(f"grow{doublings}", x, channels, 3, 2)
    size = 4 << doublings
    net.node("Tanh", "tanh", [x], net.output("output", [batch, 3, size, size]))
    return net.finish()


if __name__ == "__main__":
    command("dcgan", build)
