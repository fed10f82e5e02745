"""Write the Q-network of Mnih et al., 2015, as ONNX: `python -m benchmarks.models.dqn dqn.onnx`.

Four frames of 84 x 84 become the value of each of 18 actions. Weights are random, from a seed.
"""

from __future__ import annotations

import onnx

from benchmarks.models.net import Net, command

LAYERS = ((1, 8, 4), (2, 4, 2), (2, 3, 1))  # channels by 32, kernel, stride


def build(
    image: int = 84,
    width: int = 32,
    hidden: int = 512,
    *,
    actions: int = 18,
    batch: int = 1,
    seed: int = 0,
) -> onnx.ModelProto:
    """Return the net for `batch` times 4 frames of `image` x `image`."""
    net = Net("dqn", seed)
    x, channels, size = net.input("input", [batch, 4, image, image]), 4, image
    for i, (times, kernel, stride) in enumerate(LAYERS, 1):
        made = width * times
        x = net.conv(f"conv{i}", x, channels, made, kernel, stride, pad=0, bias=True)
        x = net.relu(f"relu{i}", x)
        channels, size = made, (size - kernel) // stride + 1
    x = net.node("Flatten", "flatten", [x], axis=1)
    x = net.relu("relu4", net.dense("dense", x, channels * size**2, hidden))
    net.dense("values", x, hidden, actions, net.output("output", [batch, actions]))
    return net.finish()


if __name__ == "__main__":
    command("dqn", build)
