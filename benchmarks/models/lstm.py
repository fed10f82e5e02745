"""Write an LSTM language model as ONNX: `python -m benchmarks.models.lstm lstm.onnx steps=20`.

The architecture is the medium one of Zaremba et al., 2014: two layers of 650 units over 10,000
words. Words come in as numbers, (steps, batch), the state of each layer as h1, c1, h2, c2; logits
for every step go out, and the new state. Weights are random, from a seed, spread as in the paper.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper

from benchmarks.models.net import Net, command

VOCABULARY = 10_000
LAYERS = 2
SPREAD = 0.05


def build(
    steps: int = 1,
    units: int = 650,
    vocabulary: int = VOCABULARY,
    *,
    batch: int = 1,
    cells: bool = False,
    seed: int = 0,
) -> onnx.ModelProto:
    """Return the net for so many steps, of LSTM operators, or of `cells` spelled out and unrolled.

    Both have the same weights, inputs and outputs.
    """
    net = Net("lstm", seed)
    words = net.input("words", [steps, batch], TensorProto.INT64)
    state = [1, batch, units]
    for layer in range(1, LAYERS + 1):
        net.input(f"h{layer}", state)
        net.input(f"c{layer}", state)
    logits = net.output("logits", [steps, batch, vocabulary])
    for layer in range(1, LAYERS + 1):
        net.output(f"h{layer}.new", state)
        net.output(f"c{layer}.new", state)
    x = net.node("Gather", "embed", [_drawn(net, "embedding", vocabulary, units), words])
    for layer in range(1, LAYERS + 1):
        x = (_cells if cells else _layer)(net, layer, x, steps, units)
    weight, bias = _drawn(net, "out.weight", units, vocabulary), _drawn(net, "out.bias", vocabulary)
    net.node("Add", "logits", [net.node("MatMul", "out", [x, weight]), bias], logits)
    return net.finish()


def _drawn(net: Net, name: str, *shape: int) -> str:
    return net.constant(name, net.rng.uniform(-SPREAD, SPREAD, shape))


def _layer(net: Net, layer: int, x: str, _steps: int, units: int) -> str:
    """ONNX's operator; its gates are in, out, forget, cell."""
    name = f"lstm{layer}"
    given = [
        x,
        _drawn(net, f"{name}.W", 1, 4 * units, units),
        _drawn(net, f"{name}.R", 1, 4 * units, units),
        _drawn(net, f"{name}.B", 1, 8 * units),
        "",  # all sequences are of full length
        f"h{layer}",
        f"c{layer}",
    ]
    made = [f"{name}.out", f"h{layer}.new", f"c{layer}.new"]
    net.nodes.append(helper.make_node("LSTM", given, made, name, hidden_size=units))
    return net.node("Squeeze", f"{name}.squeeze", [made[0], _integer(net, f"{name}.one", [1])])


def _cells(net: Net, layer: int, x: str, steps: int, units: int) -> str:
    """The same, step by step: two products, their sum cut into gates, and what the gates do."""
    name = f"lstm{layer}"
    w, r = (net.rng.uniform(-SPREAD, SPREAD, (1, 4 * units, units)) for _ in range(2))
    b = net.rng.uniform(-SPREAD, SPREAD, (1, 8 * units))
    weights = net.constant(f"{name}.W", w[0]), net.constant(f"{name}.R", r[0])
    bias = net.constant(f"{name}.b", b.reshape(2, -1).sum(0))
    zero = _integer(net, f"{name}.zero", [0])
    h, c = (
        net.node("Squeeze", f"{name}.{state}", [f"{state}{layer}", zero]) for state in "hc"
    )  # fmt: skip
    made: list[str] = []
    for t in range(steps):
        here = f"{name}.{t}"
        now = net.node("Gather", f"{here}.x", [x, _integer(net, f"{here}.step", t)])
        sums = net.node("Gemm", f"{here}.product", [now, weights[0], bias], transB=1)
        sums = net.node("Gemm", f"{here}.sums", [h, weights[1], sums], transB=1)
        gates = [f"{here}.{gate}" for gate in ("in", "out", "forget", "cell")]
        net.nodes.append(helper.make_node("Split", [sums], gates, f"{here}.split", axis=1))
        i, o, f = (net.node("Sigmoid", f"{gate}.sigmoid", [gate]) for gate in gates[:3])
        new = net.node("Tanh", f"{gates[3]}.tanh", [gates[3]])
        kept = net.node("Mul", f"{here}.kept", [f, c])
        c = net.node("Add", f"{here}.c", [kept, net.node("Mul", f"{here}.added", [i, new])])
        h = net.node("Mul", f"{here}.h", [o, net.node("Tanh", f"{here}.tanh", [c])])
        made.append(net.node("Unsqueeze", f"{here}.y", [h, zero]))
    net.node("Unsqueeze", f"{name}.h.last", [h, zero], f"h{layer}.new")
    net.node("Unsqueeze", f"{name}.c.last", [c, zero], f"c{layer}.new")
    return net.node("Concat", f"{name}.all", made, axis=0)


def _integer(net: Net, name: str, value: int | list[int]) -> str:
    return net.constant(name, np.array(value, np.int64))


if __name__ == "__main__":
    command("lstm", build)
