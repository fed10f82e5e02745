"""A network that grows by random nodes, each evaluated by ONNX Runtime as soon as it is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import NodeProto, helper, numpy_helper

Array = np.ndarray[Any, Any]
FLOAT = "float"  # that of a network, of so many bits as it has
LARGEST = 1e4  # in size: what is larger says little about the rest
MOST = 6000  # elements of a value
EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17)


class Refused(Exception):  # noqa: N818 - why a node is drawn again, no error by itself
    """A node that is not valid, or makes values that cannot be compared well."""


def fresh_session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """Return a session that runs the nodes as they are."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


class Growing:
    """Nodes so far, with the value of each result; `pick` decides all but the numbers."""

    def __init__(self, seed: int, opset: int, dtype: str = "float32") -> None:
        self.pick = Random(seed)
        self.rng = np.random.default_rng(seed)
        self.opset, self.float = opset, dtype
        self.bound, self.most = LARGEST, MOST
        self.nodes: list[NodeProto] = []
        self.inputs: dict[str, Array] = {}
        self.constants: dict[str, Array] = {}
        self.values: dict[str, Array] = {}  # inputs, and what nodes make
        self.unread: list[str] = []

    def some(self, *options: Any) -> Any:
        return self.pick.choice(options)

    def chance(self, share: float) -> bool:
        return self.pick.random() < share

    def shape(self, name: str) -> tuple[int, ...]:
        return (self.constants[name] if name in self.constants else self.values[name]).shape

    # -- operands

    def numbers(self, shape: Sequence[int]) -> Array:
        """Return what weights and inputs are like: of any size, with zeros, uneven."""
        made = self.rng.standard_normal(tuple(shape)) * self.some(1e-3, 0.1, 1, 1, 1, 20)
        if made.ndim and self.chance(0.2):
            made *= self.rng.uniform(0.01, 3, (made.shape[0],) + (1,) * (made.ndim - 1))
        if self.chance(0.15):
            made *= self.rng.random(made.shape) < 0.6
        return np.asarray(made, self.float)

    def constant(self, array: Any, dtype: str = "") -> str:
        """Keep an array; `dtype` is its own unless given."""
        dtype = self.float if dtype == FLOAT else dtype
        name = f"c{len(self.constants)}"
        self.constants[name] = np.array(array, dtype or None)
        return name

    def indices(self, *numbers: int) -> str:
        return self.constant(numbers, "int64")

    def weight(self, *shape: int) -> str:
        """Return a constant, or now and then something that is known at a run only."""
        same = [name for name, array in self.values.items() if fits(array, self.float, shape)]
        if same and self.chance(0.1):
            return self.some(*same)
        if self.chance(0.06):
            return self.input(self.numbers(shape))
        return self.constant(self.numbers(shape))

    def input(self, array: Array) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.values[name] = array
        self.unread.append(name)
        return name

    def tensor(self, *ranks: int, dtypes: Sequence[str] = (FLOAT,)) -> str:
        """Return a value of one of these ranks (of any, if none is given), rather an unread one."""
        held = [self.float if dtype == FLOAT else dtype for dtype in dtypes]
        there = [
            name
            for name, array in self.values.items()
            if array.dtype.name in held and (not ranks or array.ndim in ranks)
        ]
        unread = [name for name in there if name in self.unread]
        if unread and self.chance(0.7):
            return unread[-1] if self.chance(0.6) else self.some(*unread)
        if there and self.chance(0.9):
            return self.some(*there)
        rank = self.some(*(ranks or (1, 2, 3, 4)))
        if FLOAT in dtypes and self.values and self.chance(0.6):
            return self.reshaped(rank)
        array = self.numbers(self.drawn(rank))
        if FLOAT in dtypes:
            return self.input(array)
        return self.input(kept_as(array * 3, self.some(*dtypes)))

    def drawn(self, rank: int) -> tuple[int, ...]:
        first = (self.some(1, 1, 1, 2, 3),) if rank > 2 else ()
        return first + tuple(self.some(*EXTENTS) for _ in range(rank - len(first)))

    def reshaped(self, rank: int) -> str:
        x = self.tensor()
        shape = self.parts(self.values[x].size, rank)
        return self.node("Reshape", [x, self.indices(*shape)])

    def parts(self, size: int, count: int) -> tuple[int, ...]:
        """Return `count` factors of a size."""
        shape: list[int] = []
        for _ in range(count - 1):
            options = [n for n in range(1, min(size, 32) + 1) if size % n == 0]
            shape.append(self.some(*options))
            size //= shape[-1]
        shape.append(size)
        self.pick.shuffle(shape)
        return tuple(shape) if count else ()

    # -- nodes

    def node(self, op: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> str:
        """Add a node, and return its first result; raise Refused if it is none to compare."""
        return self.several(op, inputs, outputs, **attributes)[0]

    def several(
        self, op: str, inputs: Sequence[str], outputs: int, **attributes: Any
    ) -> tuple[str, ...]:
        made = tuple(f"v{len(self.values) + i}" for i in range(outputs))
        node = helper.make_node(op, list(inputs), list(made), f"{op}_{made[0]}", **attributes)
        read = {n: self.values[n] for n in inputs if n in self.values}
        held = {n: self.constants[n] for n in inputs if n in self.constants}
        try:
            onnx.defs.get_schema(op, self.opset)  # ONNX Runtime has some before ONNX has
            session = fresh_session(model_of([node], read, held, made, self.opset))
            results = [np.asarray(array) for array in session.run(None, read)]
        except Exception as error:
            raise Refused(f"{op}: {str(error)[:200]}") from error
        for array in results:
            _check(array, self.bound, self.most)
        self.nodes.append(node)
        self.values.update(zip(made, results, strict=True))
        self.unread = [name for name in self.unread if name not in inputs] + list(made)
        return made

    def model(self, outputs: Sequence[str]) -> onnx.ModelProto:
        read = {name for node in self.nodes for name in node.input}
        held = {n: a for n, a in self.constants.items() if n in read or n in outputs}
        return model_of(self.nodes, self.inputs, held, outputs, self.opset)


def _check(array: Array, bound: float, most: int) -> None:
    if not 0 < array.size <= most:
        raise Refused(f"{array.size} elements")
    if array.dtype.kind == "f":
        with np.errstate(all="ignore"):
            if not np.all(array < np.inf) or np.max(np.abs(array)) > bound:
                raise Refused("infinite, or large")


def fits(array: Array, dtype: str, shape: Sequence[int]) -> bool:
    return array.dtype.name == dtype and array.shape == tuple(shape)


def kept_as(array: Array, dtype: str) -> Array:
    """Round to another type, within what it holds."""
    if dtype.startswith("u"):
        array = np.abs(array)
    return (array > 0) if dtype == "bool" else array.astype(dtype)


def model_of(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, Array],
    constants: Mapping[str, Array],
    outputs: Sequence[str],
    opset: int,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        list(nodes),
        "network",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in inputs.items()
        ],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, ir_version=8, opset_imports=opsets)
