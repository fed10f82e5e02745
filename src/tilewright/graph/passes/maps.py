"""Elementwise work: chains of it become one program, which the maker of an operand then applies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.graph.ir import Graph, Node
from tilewright.graph.kernels import can_follow
from tilewright.graph.meaning import seen
from tilewright.graph.operators import OPERATORS
from tilewright.graph.passes.absorb import absorb
from tilewright.ops.program import Program, Step

MAX_PARTS = 256  # of one value: a program that reads an operand twice repeats what made it
MAX_DEPTH = 64  # steps one after another; half of what a value may have
MAX_INPUTS = 8

# What makes each element once, in a register, before a program reads it any number of times.
_SUMS = ("conv", "transposed_conv", "matmul", "pool", "reduce")
_NEVER = ("reshape", "map")


def write_literals(graph: Graph) -> Graph:
    """Write constants of one element into the programs that read them."""
    return replace(graph, nodes=tuple(_literal(node, graph) for node in graph.nodes))


def _literal(node: Node, graph: Graph) -> Node:
    program = node.attributes.get("program")
    if node.op != "map" or not isinstance(program, Program):
        return node
    values = {
        i: graph.constants[name]
        for i, name in enumerate(node.inputs)
        if name in graph.constants and graph.constants[name].size == 1
    }
    ranks = [len(graph.types[name].shape) for name in node.inputs]
    kept = [i for i in range(len(node.inputs)) if i not in values]
    shapes = [graph.types[node.inputs[i]].shape for i in kept]
    if not values or not kept or max(ranks) > max(ranks[i] for i in kept):
        return node
    if np.broadcast_shapes(*shapes) != node.output.shape:
        return node
    for i in sorted(values, reverse=True):
        array = values[i]
        literal = Program(0, (Step("constant", (), (array.item(), str(array.dtype))),))
        program = program.after(literal, i)
    inputs = tuple(node.inputs[i] for i in kept)
    return replace(node, inputs=inputs, attributes={"program": program})


def merge_maps(graph: Graph) -> Graph:
    """Let one program do the work of programs that follow each other on tensors of one shape."""
    types = graph.types

    def merge(maker: Node, reader: Node, operand: str) -> Node | None:
        if maker.op != "map" or reader.op != "map" or maker.output.shape != reader.output.shape:
            return None
        inputs, program = _joined(maker, reader, operand)
        if len(inputs) > MAX_INPUTS or _large(program, [types[name].dtype for name in inputs]):
            return None
        return replace(reader, inputs=inputs, attributes={"program": program})

    return absorb(graph, merge)


def absorb_maps(graph: Graph) -> Graph:
    """Let what makes an operand of a program apply it, before the result is stored."""
    types = graph.types

    def merge(maker: Node, reader: Node, operand: str) -> Node | None:
        if reader.op != "map" or maker.op in _NEVER or maker.output.shape != reader.output.shape:
            return None
        program = reader.attributes["program"]
        assert isinstance(program, Program)
        extras = tuple(dict.fromkeys(name for name in reader.inputs if name != operand))
        # The result of the maker first, then what is read beside it.
        numbers = {operand: 0} | {name: i for i, name in enumerate(extras, 1)}
        then = program.with_inputs([numbers[name] for name in reader.inputs], len(extras) + 1)
        if then.uses[0] > 1 and maker.op not in _SUMS:
            return None
        names = (*maker.extras, *extras)
        if maker.then is not None:
            then = maker.then.followed_by(then)
        count = len(names)
        operands = seen([types[n] for n in maker.operands], maker.reads)
        result = OPERATORS[maker.op].infer(operands, maker.attributes)
        kinds = [result.dtype, *(types[name].dtype for name in names)]
        if count > MAX_INPUTS or _large(then, kinds):
            return None
        if not can_follow(maker, types, [types[name].shape for name in extras]):
            return None
        return replace(
            reader, op=maker.op, inputs=(*maker.operands, *names), attributes=maker.attributes,
            then=then.normal, reads=maker.reads,
        )  # fmt: skip

    return absorb(graph, merge)


def _joined(maker: Node, reader: Node, operand: str) -> tuple[tuple[str, ...], Program]:
    """Return the inputs and the program of a reader that does the work of the maker itself."""
    first, program = maker.attributes["program"], reader.attributes["program"]
    assert isinstance(first, Program)
    assert isinstance(program, Program)
    names = tuple(dict.fromkeys(reader.inputs))
    program = program.with_inputs([names.index(name) for name in reader.inputs], len(names))
    both = program.after(first, names.index(operand))
    read = (*(name for name in names if name != operand), *maker.inputs)
    inputs = tuple(dict.fromkeys(read))
    return inputs, both.with_inputs([inputs.index(name) for name in read], len(inputs))


def _large(program: Program, dtypes: list[str]) -> bool:
    return program.depth > MAX_DEPTH or program.size(dtypes) > MAX_PARTS
