"""One step of LSTM and GRU, with the gate order, biases and activations of ONNX.

Of short floats, all between the states before and after is float32, and so are biases and
peepholes.
"""

from __future__ import annotations

from dataclasses import dataclass

import tilewright.expr.tensor as te
from tilewright.expr.scalar import Scalar
from tilewright.ops import fields, mixed


@dataclass(frozen=True)
class LstmCell:
    """The new hidden state and the new cell state: (2, batch, hidden), in this order.

    X is (batch, inputs), H and C (batch, hidden), the states before. Constant are W (4 * hidden,
    inputs), R (4 * hidden, hidden) and the optional B (8 * hidden,), which holds a bias for W and
    then one for R; gates are in the order input, output, forget, cell. With `peepholes` the first
    three see the cell, too, the output gate the new one: times P (3 * hidden,), constant.
    """

    batch: int
    inputs: int
    hidden: int
    bias: bool = True
    peepholes: bool = False
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        mixed.check_float("lstm cell", self.dtype)

    @property
    def name(self) -> str:
        text = f"lstm_cell {self.batch}x{self.inputs} -> {self.hidden}"
        extras = " +bias" * self.bias + " +peepholes" * self.peepholes
        return text + extras + fields.of(self.dtype)

    def expression(self) -> te.Tensor:
        """Return the stages: input and recurrent products, gates, the new cell, both states."""
        made = _Products(self.batch, self.inputs, self.hidden, 4, self.dtype)
        first, again = made.of_input(), made.of_state("again", 0, 4, made.state("H"))
        b = te.tensor("B", (8 * self.hidden,), mixed.sums(self.dtype), constant=True)
        p = te.tensor("P", (3 * self.hidden,), mixed.sums(self.dtype), constant=True)
        n, q, u = te.Axis("n", self.batch), te.Axis("gate", 4), te.Axis("u", self.hidden)
        total: Scalar = first[n, q, u] + again[n, q, u]
        if self.bias:
            at = q * self.hidden + u
            total = total + (b[at] + b[at + 4 * self.hidden])
        gates = te.stage("gates", (n, q, u), total)

        def gate(number: int, n: te.Axis, u: te.Axis, state: Scalar) -> Scalar:
            at = gates[n, number, u]
            return te.sigmoid(at + p[u + number * self.hidden] * state if self.peepholes else at)

        n, u = te.Axis("cn", self.batch), te.Axis("cu", self.hidden)
        before = mixed.wide(made.state("C")[n, u])
        kept, come = gate(2, n, u, before) * before, gate(0, n, u, before)
        cell = te.stage("cell", (n, u), kept + come * te.tanh(gates[n, 3, u]))
        o, n, u = te.Axis("o", 2), te.Axis("on", self.batch), te.Axis("ou", self.hidden)
        hidden = gate(1, n, u, cell[n, u]) * te.tanh(cell[n, u])
        both = te.select(o < 1, hidden, cell[n, u])
        return te.stage("out", (o, n, u), mixed.stored(both, self.dtype))


@dataclass(frozen=True)
class GruCell:
    """The new hidden state (batch, hidden).

    X is (batch, inputs), H (batch, hidden), the state before. Constant are W (3 * hidden, inputs),
    R (3 * hidden, hidden) and the optional B (6 * hidden,), which holds a bias for W and then one
    for R; gates are in the order update, reset, hidden. `linear_before_reset` resets the product
    with the state, and not the state itself.
    """

    batch: int
    inputs: int
    hidden: int
    linear_before_reset: bool = False
    bias: bool = True
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        mixed.check_float("gru cell", self.dtype)

    @property
    def name(self) -> str:
        late = " linear before reset" * self.linear_before_reset
        text = f"gru_cell {self.batch}x{self.inputs} -> {self.hidden}{late}"
        return text + " +bias" * self.bias + fields.of(self.dtype)

    def expression(self) -> te.Tensor:
        """Return the stages: products, gates, the reset state and its product (or not), out."""
        made, units = _Products(self.batch, self.inputs, self.hidden, 3, self.dtype), self.hidden
        h = made.state("H")
        b = te.tensor("B", (6 * units,), mixed.sums(self.dtype), constant=True)
        first = made.of_input()
        count = 3 if self.linear_before_reset else 2
        again = made.of_state("again", 0, count, h)

        def input_part(n: te.Axis, gate: int, u: te.Axis) -> Scalar:
            return first[n, gate, u] + b[u + gate * units] if self.bias else first[n, gate, u]

        n, q, u = te.Axis("n", self.batch), te.Axis("gate", count), te.Axis("u", units)
        state: Scalar = again[n, q, u]
        state = state + b[q * units + u + 3 * units] if self.bias else state
        recurrent = te.stage("recurrent", (n, q, u), state)
        n, u = te.Axis("rn", self.batch), te.Axis("ru", units)
        reset = te.sigmoid(input_part(n, 1, u) + recurrent[n, 1, u])
        if self.linear_before_reset:
            late: Scalar = reset * recurrent[n, 2, u]
        else:
            kept = te.stage("reset", (n, u), reset * mixed.wide(h[n, u]))
            product = made.of_state("candidate", 2, 1, kept)
            n, u = te.Axis("on", self.batch), te.Axis("ou", units)
            late = product[n, 0, u]
            late = late + b[u + 5 * units] if self.bias else late
        update = te.sigmoid(input_part(n, 0, u) + recurrent[n, 0, u])
        hidden = te.tanh(input_part(n, 2, u) + late)
        after = (1.0 - update) * hidden + update * mixed.wide(h[n, u])
        return te.stage("out", (n, u), mixed.stored(after, self.dtype))


class _Products:
    """The products of a cell, each with as many gates as it is asked for."""

    def __init__(self, batch: int, inputs: int, hidden: int, gates: int, dtype: str) -> None:
        self._batch, self._inputs, self._hidden, self._gates = batch, inputs, hidden, gates
        self._dtype = dtype
        self._x = te.tensor("X", (batch, inputs), dtype)
        self._w = te.tensor("W", (gates * hidden, inputs), dtype, constant=True)
        self._r = te.tensor("R", (gates * hidden, hidden), dtype, constant=True)

    def state(self, name: str) -> te.Tensor:
        return te.tensor(name, (self._batch, self._hidden), self._dtype)

    def of_input(self) -> te.Tensor:
        return self._product("first", self._x, self._w, 0, self._gates)

    def of_state(self, name: str, gate: int, count: int, state: te.Tensor) -> te.Tensor:
        return self._product(name, state, self._r, gate, count)

    def _product(
        self, name: str, source: te.Tensor, weights: te.Tensor, gate: int, count: int
    ) -> te.Tensor:
        n, q, u = (
            te.Axis(f"{name}_{axis}", extent)
            for axis, extent in (("n", self._batch), ("gate", count), ("u", self._hidden))
        )
        k = te.reduce_axis(f"{name}_k", source.shape[1])
        weight = weights[(q + gate) * self._hidden + u, k]
        return te.stage(name, (n, q, u), te.sum(mixed.product(source[n, k], weight), over=k))
