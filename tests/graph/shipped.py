"""A little network with all that can be shipped: scratch, weights, an input that is an output."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import helper
from tests.graph.models import floats, write

IMAGE = (1, 3, 9, 9)


def little(path: Path) -> Path:
    """Write a network of a convolution, a residual and a product; `y` and `x` are its outputs."""
    rng = np.random.default_rng(0)
    nodes = [
        helper.make_node("Conv", ["x", "k"], ["a"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
        helper.make_node("Reshape", ["b", "shape"], ["c"], "flat"),
        helper.make_node("MatMul", ["c", "w"], ["y"], "product"),
    ]
    constants = {
        "k": floats(rng, 4, 3, 3, 3),
        "shape": np.array([1, 324], np.int64),
        "w": floats(rng, 324, 5),
    }
    return write(path, nodes, {"x": IMAGE}, constants, ["y", "x"])


def image(seed: int = 0) -> np.ndarray:
    return floats(np.random.default_rng(seed), *IMAGE)
