"""What scales and shifts channels after a convolution or product -> its weights, and one addend."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.graph.builder import fresh
from tilewright.graph.ir import Graph, Node
from tilewright.ops.program import Program, Step

_LINEAR = ("conv", "transposed_conv", "matmul")


def fold_affine(graph: Graph) -> Graph:
    """Scale the weights by what is multiplied behind; batch normalisation leaves one addition.

    A program that begins with additions and multiplications by constants of one element a channel
    is a * x + b of the result x: a goes into the weights, and b is added.
    """
    constants, taken = dict(graph.constants), graph.values
    nodes: list[Node] = []

    def put(name: str, array: np.ndarray, dtype: str) -> str:
        name = fresh(name, taken)
        constants[name] = np.ascontiguousarray(array, dtype=dtype)
        return name

    for node in graph.nodes:
        weights = constants.get(node.inputs[1]) if node.op in _LINEAR else None
        fits = weights is not None and weights.dtype.kind == "f" and node.then is not None
        if node.op == "matmul":
            fits = fits and weights is not None and weights.ndim == 2
            fits = fits and not node.attributes["transpose_b"]
        folded = _leading(node, constants) if fits else None
        if folded is None or weights is None or not np.isfinite(_scaled(weights, folded[0])).all():
            nodes.append(node)
            continue
        factor, shift, rest, extras = folded
        name, dtype = node.output.name, str(weights.dtype)
        by = node.inputs[1]
        if not np.all(factor == 1.0):
            by = put(f"{name}.weight", _scaled(weights, factor), dtype)
        program, inputs = rest, extras
        if not np.all(shift == 0.0):
            addend = put(f"{name}.bias", shift, dtype)
            first = Program.of("add", 2)
            if rest is None:
                program, inputs = first, (addend,)
            else:
                program, inputs = first.followed_by(rest), (addend, *extras)
        then = program and program.normal
        nodes.append(replace(node, inputs=(node.inputs[0], by, *inputs), then=then))
    return replace(graph, nodes=tuple(nodes), constants=constants)


def _scaled(weights: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Return the weights of each channel times its factor, as they are stored."""
    with np.errstate(all="ignore"):
        return (weights.astype(np.float64) * factor).astype(weights.dtype)


def _leading(
    node: Node, constants: dict[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, Program | None, tuple[str, ...]] | None:
    """Return a and b of the steps that begin a program, in float64, and the rest with its inputs.

    None if it does not begin so, or if nothing would be won: a single addition.
    """
    then, channels = node.then, node.output.shape[-1]
    assert then is not None
    uses, current = then.uses, 0
    factor, shift = np.ones(channels), np.zeros(channels)
    known: dict[int, np.ndarray] = {}
    for number, name in enumerate(node.extras, 1):
        array = constants.get(name)
        if array is not None and (array.size == 1 or array.shape[-1] == array.size == channels):
            known[number] = array.reshape(-1).astype(np.float64)
    done: set[int] = set()
    steps = list(enumerate(then.steps, then.inputs))
    for number, step in steps:
        if step.function == "constant":
            known[number] = np.array([step.parameters[0]], np.float64)
    for number, step in steps:
        if step.function == "constant":
            continue
        if current not in step.operands or uses[current] != 1:
            break
        others = [n for n in step.operands if n != current]
        if len(step.operands) != 2 or len(others) != 1 or others[0] not in known:
            break
        by, first = known[others[0]], step.operands[0] == current
        with np.errstate(all="ignore"):
            match step.function:
                case "add":
                    shift = shift + by
                case "sub" if first:
                    shift = shift - by
                case "sub":
                    factor, shift = -factor, by - shift
                case "mul":
                    factor, shift = factor * by, shift * by
                case "div" if first:
                    factor, shift = factor / by, shift / by
                case _:
                    break
        done.add(number)
        current = number
    if not done or (len(done) == 1 and np.all(factor == 1.0)):
        return None
    rest, extras = _without(node, then, done, current)
    return factor, shift, rest, extras


def _without(
    node: Node, then: Program, done: set[int], current: int
) -> tuple[Program | None, tuple[str, ...]]:
    """Return the program without its first steps, whose result is input 0 instead."""
    if current == then.result:
        return None, ()
    place = {current: 0}
    kept_steps = [
        (number, step) for number, step in enumerate(then.steps, then.inputs) if number not in done
    ]
    needed = {n for _, step in kept_steps for n in step.operands}
    kept_steps = [(n, s) for n, s in kept_steps if s.function != "constant" or n in needed]
    used = [i for i in range(1, then.inputs) if i in needed]
    place |= {old: new for new, old in enumerate(used, 1)}
    for new, (number, _) in enumerate(kept_steps, len(used) + 1):
        place[number] = new
    steps = tuple(
        Step(s.function, tuple(place[n] for n in s.operands), s.parameters) for _, s in kept_steps
    )
    return Program(len(used) + 1, steps), tuple(node.extras[i - 1] for i in used)
