"""Import LSTM, GRU and RNN: their steps one by one, the products with all inputs at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.graph.onnx.source import Refusal, Source
from tilewright.ops.program import Parameter, Program, Step

MAX_STEPS = 1024

# The function of an element for each of ONNX's names, and its parameters where none are stated.
_FUNCTIONS: dict[str, tuple[str, tuple[float, ...]]] = {
    "affine": ("affine", (1.0, 0.0)),
    "elu": ("elu", (1.0,)),
    "hardsigmoid": ("hard_sigmoid", (0.2, 0.5)),
    "leakyrelu": ("leaky_relu", (0.01,)),
    "relu": ("relu", ()),
    "scaledtanh": ("scaled_tanh", (1.0, 1.0)),
    "sigmoid": ("sigmoid", ()),
    "tanh": ("tanh", ()),
}


class _Writer:
    """A program in the making: each function returns the number of its value."""

    def __init__(self, inputs: int, dtype: str) -> None:
        self.inputs, self.dtype = inputs, dtype
        self.steps: list[Step] = []

    def __call__(self, function: str, *operands: int, parameters: Sequence[Parameter] = ()) -> int:
        self.steps.append(Step(function, operands, tuple(parameters)))
        return self.inputs + len(self.steps) - 1

    def number(self, value: float) -> int:
        return self("constant", parameters=(value, self.dtype))

    def program(self) -> Program:
        return Program(self.inputs, tuple(self.steps))


@dataclass(frozen=True)
class _Activation:
    name: str
    parameters: tuple[float, ...]
    clip: float

    def apply(self, write: _Writer, x: int) -> int:
        if self.clip:
            x = write("max", write("min", x, write.number(self.clip)), write.number(-self.clip))
        match self.name:
            case "affine":
                a, b = map(write.number, self.parameters)
                return write("add", write("mul", x, a), b)
            case "scaled_tanh":
                a, b = map(write.number, self.parameters)
                return write("mul", write("tanh", write("mul", x, b)), a)
            case _:
                return write(self.name, x, parameters=self.parameters)


@dataclass(frozen=True)
class _Direction:
    """One direction of a layer: what its steps share."""

    source: Source
    number: int
    gates: int
    size: tuple[int, int, int]  # steps, batch, hidden
    functions: tuple[_Activation, ...]

    @property
    def dtype(self) -> str:
        return self.source.dtype()

    def part(self, name: str) -> str:
        return f"{name}{self.number}"

    def weights(self, index: int, first: int, count: int) -> str:
        """Return some gates of weights (directions, gates * hidden, depth), transposed."""
        _, _, hidden = self.size
        shape = self.source.shape(index)
        part = self.part(f"weights{index}.{first}")
        cut = cut_out(
            self.source, self.source.value(index), (self.number, first * hidden, 0),
            (1, count * hidden, shape[2]), part,
        )  # fmt: skip
        flat = self.source.reshaped(cut, (count * hidden, shape[2]), f"{part}.flat")
        return self.source.node("transpose", flat, perm=(1, 0), part=f"{part}.transposed")

    def vector(self, index: int, first: int, count: int) -> str:
        """Return some gates of a bias or a peephole (directions, all * hidden), as one row."""
        _, _, hidden = self.size
        part = self.part(f"vector{index}.{first}")
        start, extent = (self.number, first * hidden), (1, count * hidden)
        return cut_out(self.source, self.source.value(index), start, extent, part)

    def product(self, data: str, weights: str, part: str) -> str:
        return self.source.node(
            "matmul", data, weights, transpose_a=0, transpose_b=0, part=self.part(part)
        )

    def inputs(self, bias: Callable[[], str | None]) -> list[str]:
        """Return the products of the inputs of all steps, with the bias, step by step."""
        steps, batch, hidden = self.size
        depth, wide = self.source.shape()[2], self.gates * hidden
        rows = self.source.reshaped(sequence(self.source), (steps * batch, depth), self.part("X"))
        product = self.product(rows, self.weights(1, 0, self.gates), "of_inputs")
        addend = bias()
        if addend is not None:
            product = self.source.map("add", product, addend, part=self.part("biased"))
        return [
            cut_out(self.source, product, (t * batch, 0), (batch, wide), self.part(f"inputs{t}."))
            for t in range(steps)
        ]

    def state(self, index: int, name: str) -> str:
        """Return the state before the first step: what is given, or zeros."""
        _, batch, hidden = self.size
        if not self.source.has(index):
            zeros = np.zeros((batch, hidden), self.dtype)
            return self.source.literal(zeros, self.part(name))
        given = states(self.source, index)
        cut = cut_out(
            self.source, given, (self.number, 0, 0), (1, batch, hidden), self.part(name)
        )  # fmt: skip
        return self.source.reshaped(cut, (batch, hidden), self.part(f"{name}.flat"))

    def gated(
        self,
        inputs: Sequence[tuple[str, int]],
        write: Callable[[_Writer], object],
        part: str,
    ) -> str:
        """Add a program of the gates of each unit, of which each input holds so many."""
        writer = _Writer(sum(count for _, count in inputs), self.dtype)
        write(writer)
        return self.source.node(
            "gates", *(name for name, _ in inputs), gates=tuple(count for _, count in inputs),
            hidden=self.size[2], program=writer.program(), part=self.part(part),
        )  # fmt: skip

    def kept(self, t: int, new: str, old: str | None, part: str) -> str:
        """Return what is new where a sequence goes on to step t, and else the old, or zeros."""
        if not self.source.has(4):
            return new
        lengths = self.source.reshaped(self.source.value(4), (self.size[1], 1), "lengths")
        dtype = self.source.dtype(4)
        steps = [Step("constant", (), (t, dtype)), Step("less", (3, 0))]
        if old is None:
            steps[1] = Step("less", (2, 0))
            steps += [Step("constant", (), (0.0, self.dtype)), Step("select", (3, 1, 4))]
            program = Program(2, tuple(steps))
            return self.source.map(program, lengths, new, part=self.part(part))
        program = Program(3, (*steps, Step("select", (4, 1, 2))))
        return self.source.map(program, lengths, new, old, part=self.part(part))


def lstm(source: Source) -> tuple[str, ...]:
    def run(way: _Direction, order: Sequence[int]) -> tuple[dict[int, str], tuple[str, ...]]:
        f, g, h = way.functions
        inputs = way.inputs(lambda: _bias(way, 3, 4, 4))
        recurrent = way.weights(2, 0, 4)
        hidden, cell = way.state(5, "hidden"), way.state(6, "cell")
        peephole = [(way.vector(7, 0, 3), 3)] if source.has(7) else []
        coupled, outputs = source.attribute("input_forget", 0), dict[int, str]()
        for t in order:
            product = way.product(hidden, recurrent, f"step{t}.of_state")
            gates = source.map("add", product, inputs[t], part=way.part(f"step{t}.gates"))

            def new_cell(write: _Writer) -> None:  # values: i o f c, the cell, peepholes i o f
                i, forget = 0, 2
                if peephole:
                    i = write("add", i, write("mul", 5, 4))
                    forget = write("add", forget, write("mul", 7, 4))
                i = f.apply(write, i)
                keep = write("sub", write.number(1.0), i) if coupled else f.apply(write, forget)
                come = write("mul", i, g.apply(write, 3))
                write("add", write("mul", keep, 4), come)

            def new_hidden(write: _Writer) -> None:
                o = write("add", 1, write("mul", 6, 4)) if peephole else 1
                write("mul", f.apply(write, o), h.apply(write, 4))

            made = way.gated([(gates, 4), (cell, 1), *peephole], new_cell, f"step{t}.cell")
            shown = way.gated([(gates, 4), (made, 1), *peephole], new_hidden, f"step{t}.hidden")
            outputs[t] = way.kept(t, shown, None, f"step{t}.shown")
            hidden = way.kept(t, shown, hidden, f"step{t}.kept_hidden")
            cell = way.kept(t, made, cell, f"step{t}.kept_cell")
        return outputs, (hidden, cell)

    return _layer(source, 4, ("Sigmoid", "Tanh", "Tanh"), run)


def gru(source: Source) -> tuple[str, ...]:
    late = bool(source.attribute("linear_before_reset", 0))

    def run(way: _Direction, order: Sequence[int]) -> tuple[dict[int, str], tuple[str, ...]]:
        f, g = way.functions
        # Late, the bias of the candidate's product with the state is reset with it.
        inputs = way.inputs(lambda: _bias(way, 3, 3, 2 if late else 3))
        hidden, outputs = way.state(5, "hidden"), dict[int, str]()
        both, candidate = (3, None) if late else (2, way.weights(2, 2, 1))
        recurrent = way.weights(2, 0, both)
        late_bias = [(way.vector(3, 5, 1), 1)] if late and source.has(3) else []
        for t in order:
            product = way.product(hidden, recurrent, f"step{t}.of_state")
            given = [(inputs[t], 3), (product, both), (hidden, 1)]

            def update(write: _Writer, z: int, new: int, old: int) -> None:
                rest = write("sub", write.number(1.0), z)
                write("add", write("mul", rest, new), write("mul", z, old))

            if late:  # values: z r h of inputs, z r h of the state, the state, the bias

                def at_once(write: _Writer) -> None:
                    z = f.apply(write, write("add", 0, 3))
                    r = f.apply(write, write("add", 1, 4))
                    of_state = write("add", 5, 7) if late_bias else 5
                    new = g.apply(write, write("add", 2, write("mul", r, of_state)))
                    update(write, z, new, 6)

                shown = way.gated([*given, *late_bias], at_once, f"step{t}.hidden")
            else:  # values: z r h of inputs, z r of the state, the state, then the candidate
                assert candidate is not None

                def reset(write: _Writer) -> None:
                    write("mul", f.apply(write, write("add", 1, 4)), 5)

                def last(write: _Writer) -> None:
                    z = f.apply(write, write("add", 0, 3))
                    update(write, z, g.apply(write, write("add", 2, 6)), 5)

                reset_state = way.gated(given, reset, f"step{t}.reset")
                of_reset = way.product(reset_state, candidate, f"step{t}.of_reset")
                shown = way.gated([*given, (of_reset, 1)], last, f"step{t}.hidden")
            outputs[t] = way.kept(t, shown, None, f"step{t}.shown")
            hidden = way.kept(t, shown, hidden, f"step{t}.kept")
        return outputs, (hidden,)

    return _layer(source, 3, ("Sigmoid", "Tanh"), run)


def rnn(source: Source) -> tuple[str, ...]:
    def run(way: _Direction, order: Sequence[int]) -> tuple[dict[int, str], tuple[str, ...]]:
        (f,) = way.functions
        inputs = way.inputs(lambda: _bias(way, 3, 1, 1))
        recurrent = way.weights(2, 0, 1)
        hidden, outputs = way.state(5, "hidden"), dict[int, str]()
        for t in order:
            product = way.product(hidden, recurrent, f"step{t}.of_state")

            def both(write: _Writer) -> None:
                f.apply(write, write("add", 0, 1))

            shown = way.gated([(product, 1), (inputs[t], 1)], both, f"step{t}.hidden")
            outputs[t] = way.kept(t, shown, None, f"step{t}.shown")
            hidden = way.kept(t, shown, hidden, f"step{t}.kept")
        return outputs, (hidden,)

    return _layer(source, 1, ("Tanh",), run)


def _bias(way: _Direction, index: int, gates: int, of_state: int) -> str | None:
    """Return the bias of the input's products, with that of the state's for the first gates."""
    source, hidden = way.source, way.size[2]
    if not source.has(index):
        return None
    first, second = way.vector(index, 0, gates), way.vector(index, gates, of_state)
    if of_state < gates:
        rest = source.literal(
            np.zeros((1, (gates - of_state) * hidden), way.dtype), way.part("nothing")
        )
        second = source.node("concat", second, rest, axis=1, part=way.part("state_bias"))
    return source.map("add", first, second, part=way.part("bias"))


_Run = Callable[[_Direction, Sequence[int]], tuple[dict[int, str], tuple[str, ...]]]


def _layer(source: Source, gates: int, usual: tuple[str, ...], run: _Run) -> tuple[str, ...]:
    """Run all directions; return Y, the last hidden state, and the last cell, if there is one."""
    X = source.shape()
    if len(X) != 3 or len(source.shape(1)) != 3 or len(source.shape(2)) != 3:
        raise Refusal(f"its input has the shape {X}, its weights {source.shape(1)}: not three axes")
    last = source.attribute("layout", 0)
    steps, batch, _ = (X[1], X[0], X[2]) if last else X
    hidden, ways = source.shape(2)[2], _ways(source)
    if source.shape(2) != (len(ways), gates * hidden, hidden) or steps > MAX_STEPS:
        raise Refusal(
            f"{steps} steps (at most {MAX_STEPS}) in {len(ways)} directions with weights of "
            f"{source.shape(1)} and {source.shape(2)}"
        )
    functions = _functions(source, usual, len(ways))
    outputs: list[dict[int, str]] = []
    states_after: list[tuple[str, ...]] = []
    for number, backwards in enumerate(ways):
        mine = functions[number * len(usual) : (number + 1) * len(usual)]
        way = _Direction(source, number, gates, (steps, batch, hidden), mine)
        order = range(steps)[::-1] if backwards else range(steps)
        made, after = run(way, order)
        outputs.append(made)
        states_after.append(after)
    rows = [
        source.reshaped(made[t], (1, 1, batch, hidden), f"out{number}.{t}")
        for t in range(steps)
        for number, made in enumerate(outputs)
    ]
    whole = rows[0]
    if len(rows) > 1:
        whole = source.node("concat", *rows, axis=0, part="all")
        whole = source.reshaped(whole, (steps, len(ways), batch, hidden), "every")
    if last:
        whole = source.node("transpose", whole, perm=(2, 0, 1, 3), part="first")
    found = [whole]
    for kind in zip(*states_after, strict=True):
        each = [
            source.reshaped(state, (1, batch, hidden), f"state{len(found)}.{number}")
            for number, state in enumerate(kind)
        ]
        joined = each[0]
        if len(each) > 1:
            joined = source.node("concat", *each, axis=0, part=f"states{len(found)}")
        if last:
            joined = source.node("transpose", joined, perm=(1, 0, 2), part=f"after{len(found)}")
        found.append(joined)
    return tuple(found)


def sequence(source: Source) -> str:
    """Return X with the steps first."""
    if not source.attribute("layout", 0):
        return source.value()
    return source.node("transpose", source.value(), perm=(1, 0, 2), part="steps_first")


def states(source: Source, index: int) -> str:
    """Return states given before the first step, with the directions first."""
    if not source.attribute("layout", 0):
        return source.value(index)
    given = source.value(index)
    return source.node("transpose", given, perm=(1, 0, 2), part=f"directions_first{index}")


def cut_out(
    source: Source, value: str, start: tuple[int, ...], count: tuple[int, ...], part: str
) -> str:
    """Return a block of a tensor; all of it as it is."""
    if source.builder.shape(value) == count:
        return value
    step = (1,) * len(start)
    return source.node("slice", value, start=start, count=count, step=step, part=part)


def _ways(source: Source) -> tuple[bool, ...]:
    """Return for each direction whether it runs backwards."""
    direction = source.attribute("direction", "forward")
    known = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
    if direction not in known:
        raise Refusal(f"its direction {direction!r} is none of {', '.join(known)}")
    return known[direction]


def _functions(source: Source, usual: tuple[str, ...], ways: int) -> tuple[_Activation, ...]:
    stated = source.texts("activations") or usual * ways
    if len(stated) != len(usual) * ways:
        raise Refusal(f"it states {len(stated)} activations instead of {len(usual) * ways}")
    alphas = iter(source.attribute("activation_alpha", (0.0,) * 0))
    betas = iter(source.attribute("activation_beta", (0.0,) * 0))
    clip = source.attribute("clip", 0.0)
    found: list[_Activation] = []
    for name in stated:
        if name.lower() not in _FUNCTIONS:
            raise Refusal(f"its activation {name!r} is not supported")
        function, defaults = _FUNCTIONS[name.lower()]
        given = [
            next(values, default)
            for values, default in zip((alphas, betas), defaults, strict=False)
        ]
        found.append(_Activation(function, tuple(given), clip))
    return tuple(found)
