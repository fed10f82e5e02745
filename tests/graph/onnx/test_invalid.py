"""Models that ONNX forbids or that cannot be: each is one `ModelError` that names what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper, load_model
from onnx.helper import make_node
from tests.graph.models import save, write

from tilewright.errors import ModelError
from tilewright.graph.onnx import load
from tilewright.graph.passes import optimize

X = {"x": (1, 2, 4, 3)}
I64 = np.int64


def refused(path: Path, message: str) -> None:
    with pytest.raises(ModelError, match=message) as error:
        load(path)
    assert str(path) in str(error.value)


def constant(*values: Any, dtype: Any = np.int64, shape: tuple[int, ...] | None = None) -> Any:
    return np.array(values, dtype).reshape((len(values),) if shape is None else shape)


FOLDED: Mapping[str, tuple[NodeProto, dict[str, np.ndarray], str]] = {
    "no value": (make_node("Constant", [], ["c"]), {}, ""),
    "step": (make_node("Range", ["a", "b", "z"], ["c"]),
             {n: constant(v, shape=()) for n, v in (("a", 0), ("b", 9), ("z", 0))}, "too many"),
    "huge": (make_node("ConstantOfShape", ["a"], ["c"]), {"a": constant(1 << 20, 1 << 20)},
             "1.09951e.12 elements, too many"),
    "huge range": (make_node("Range", ["a", "b", "z"], ["c"]),
                   {n: constant(v, shape=()) for n, v in (("a", 0), ("b", 1 << 50), ("z", 1))},
                   "too many"),
    "expanded": (make_node("Expand", ["a", "b"], ["c"]),
                 {"a": constant(1), "b": constant(1 << 20, 1 << 20)}, "too many"),
    "type": (make_node("Cast", ["a"], ["c"], to=99), {"a": constant(1)}, ""),
    "norm": (make_node("BatchNormalization", ["a", *"bbbb"], ["c"]),
             {"a": np.ones(3, np.float32), "b": np.ones(2, np.float32)},
             "without channels"),
    "lstm": (make_node("LSTM", ["a", "a", "a"], ["c"], hidden_size=1),
             {"a": constant(1.0, dtype=np.float32)}, "cannot be computed"),
    "sequence": (make_node("SequenceConstruct", ["a", "b"], ["c"]),
                 {"a": constant(1), "b": constant(1, 2)}, "cannot be computed"),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDED)
def test_constants_that_cannot_be_computed(tmp_path: Path, name: str) -> None:
    node, constants, message = FOLDED[name]
    nodes = [node, make_node("Relu", ["x"], ["y"])]
    path = write(tmp_path / "m.onnx", nodes, X, constants)
    refused(path, rf"1 node is not supported.\n  {node.op_type} 'c': .*{message}")


W = np.ones((2, 2, 1, 1), np.float32)
ONE: Sequence[tuple[NodeProto, dict[str, np.ndarray], str]] = [
    (make_node("Conv", ["x", "w"], ["y"], auto_pad="FOO"), {"w": W}, "auto_pad 'FOO' is none of"),
    (make_node("Conv", ["x", "w"], ["y"], group=0), {"w": W}, "cannot be in 0 groups"),
    (make_node("Conv", ["x", "w"], ["y"]), {"w": W[:0]}, "without elements"),
    (make_node("Conv", ["x", "w"], ["y"]), {"w": W[:, :0]}, "without elements"),
    (make_node("Conv", ["x", ""], ["y"]), {}, "its input 1 is missing|Node"),
    (make_node("Conv", ["x", "w"], ["y"]), {"w": W[0, 0]}, r"its weights have the shape \(1, 1\)"),
    (make_node("ReduceMean", ["x"], ["y"], axes=[2, 7]), {}, r"axes \(2, 7\) are not"),
    (make_node("ReduceMean", ["x"], ["y"], axes=[2, 3, -1]), {}, r"axes \(2, 3, -1\) are not"),
    (make_node("Unsqueeze", ["x", "a"], ["y"]), {"a": constant(9)}, r"axes \(9,\) are not"),
    (make_node("Unsqueeze", ["x", "a"], ["y"]), {"a": constant(0, 0)}, r"axes \(0, 0\) are not"),
    (make_node("Squeeze", ["x", "a"], ["y"]), {"a": constant(-9)}, r"axes \(-9,\) are not"),
    (make_node("Squeeze", ["x", "a"], ["y"]), {"a": constant(0.0, dtype=float)}, "no integers"),
    (make_node("Flatten", ["x"], ["y"], axis=5), {}, "axis 5 is none of"),
    (make_node("Flatten", ["x"], ["y"], axis=-5), {}, "axis -5 is none of"),
    (make_node("Reshape", ["x", "a"], ["y"]), {"a": constant(24.0, dtype=np.float32)}, "no integ"),
    (make_node("Reshape", ["x", "a"], ["y"]), {"a": constant(-1, -1)}, "at most one extent"),
    (make_node("Reshape", ["x", "a"], ["y"]), {"a": constant(-2, -12)}, "at most one extent"),
    (make_node("Reshape", ["x", "a"], ["y"]), {"a": constant(5, -1)}, "cannot be reshaped"),
    (make_node("Clip", ["x", "a"], ["y"]), {"a": constant(0.0, 1.0, dtype=np.float32)},
     "do not fit"),
    (make_node("Dropout", ["x", "", "a"], ["y"]), {"a": constant(True, False, dtype=bool)},
     "training mode is bool of shape"),
    (make_node("Add", ["x", "a"], ["y"]), {"a": np.ones(7, np.float32)}, "do not fit"),
    (make_node("Add", ["x", "a"], ["y"]), {"a": np.ones((0, 3), np.float32)}, "do not fit|without"),
    (make_node("MaxPool", ["x"], ["y"], kernel_shape=[1, 1], strides=[4, 3],
               auto_pad="SAME_UPPER"), {}, "leaves open which elements are read"),
]  # fmt: skip


@pytest.mark.parametrize(("node", "constants", "message"), ONE, ids=str)
def test_nodes_that_cannot_be(
    tmp_path: Path, node: NodeProto, constants: dict[str, np.ndarray], message: str
) -> None:
    path = write(tmp_path / "m.onnx", [node], X, constants)
    refused(path, rf"1 node is not supported.\n  {node.op_type} 'y': .*({message})")


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
@pytest.mark.parametrize("empty", [(0, 2, 1, 1), (2, 0, 1, 1), (2, 2, 0, 1)], ids=str)
def test_weights_without_elements_are_refused_wherever_they_come_from(
    tmp_path: Path, op: str, empty: tuple[int, ...]
) -> None:
    node, given = make_node(op, ["x", "w"], ["y"]), {"w": np.ones(empty, np.float32)}
    message = rf"{op} 'y': 'w' has the shape {re.escape(str(empty))}, without elements"
    refused(write(tmp_path / "stored.onnx", [node], X, given), message)
    ends = {"a": np.array(empty, np.int64), "z": np.zeros(4, np.int64)}
    cut = make_node("Slice", ["whole", "z", "a"], ["w"])
    whole = {"whole": np.ones((2, 2, 2, 2), np.float32)}
    refused(write(tmp_path / "made.onnx", [cut, node], X, {**ends, **whole}), message)
    path = write(tmp_path / "given.onnx", [node], {**X, "w": empty}, {})
    with pytest.raises(ModelError, match=message):
        load(path, {"w": empty})


def test_what_is_unusual_but_right_loads(tmp_path: Path) -> None:
    zero = {"a": constant(0.0, dtype=np.float32)}
    path = write(tmp_path / "clip.onnx", [make_node("Clip", ["x", "a"], ["y"])], X, zero)
    assert [node.op for node in load(path).nodes] == ["map"]
    path = write(tmp_path / "scalar.onnx", [make_node("Squeeze", ["x"], ["y"])], {"x": ()}, {})
    assert load(path).nodes[0].output.shape == ()
    pool = make_node(
        "MaxPool", ["x"], ["y"], kernel_shape=[1, 1], strides=[2, 2], auto_pad="SAME_UPPER"
    )
    path = write(tmp_path / "pool.onnx", [pool], X, {})
    assert load(path).nodes[0].output.shape == (1, 2, 2, 2)


def attribute(model: ModelProto) -> None:
    made = AttributeProto(name="axis", ref_attr_name="outer", type=AttributeProto.INT)
    model.graph.node[0].CopyFrom(NodeProto(op_type="Flatten", input=["x"], output=["y"]))
    model.graph.node[0].attribute.append(made)


def stated(*shape: int, kind: int = TensorProto.FLOAT) -> Callable[[ModelProto], None]:
    def change(model: ModelProto) -> None:
        model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", kind, shape))

    return change


def read_late(model: ModelProto) -> None:
    model.graph.node.insert(0, make_node("Relu", ["late"], ["z"], name="early"))
    model.graph.node.append(make_node("Relu", ["x"], ["late"], name="after"))


def circle(model: ModelProto) -> None:
    nodes = [
        make_node("Relu", ["b"], ["a"], name="one"),
        make_node("Relu", ["a"], ["b"], name="two"),
    ]
    model.graph.node.extend(nodes)


def redefine(name: str) -> Callable[[ModelProto], None]:
    def change(model: ModelProto) -> None:
        model.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0]))
        model.graph.node.append(make_node("Relu", ["x"], [name], name="again"))

    return change


def set_input(**tensor: Any) -> Callable[[ModelProto], None]:
    def change(model: ModelProto) -> None:
        kind = model.graph.input[0].type.tensor_type
        if "elem_type" in tensor:
            kind.elem_type = tensor["elem_type"]
        if "extent" in tensor:
            kind.shape.dim[0].dim_value = tensor["extent"]

    return change


def initializers(count: int, **values: Any) -> Callable[[ModelProto], None]:
    def change(model: ModelProto) -> None:
        given: Any = {"data_type": 1, "dims": [1], "float_data": [1.0], **values}
        made = TensorProto(name="w", **given)
        model.graph.initializer.extend([made] * count)

    return change


INVALID: Mapping[str, tuple[Callable[[ModelProto], Any], str]] = {
    "attribute of a function": (attribute, "axis refers to an attribute of a function"),
    "type of input": (set_input(elem_type=99), "input 'x' is of type 99, which is unknown"),
    "extent": (set_input(extent=-2), "input 'x' states an extent of -2, where one that is open"),
    "large extent": (set_input(extent=1 << 50), "too large"),
    "type of constant": (initializers(1, data_type=99), "constant 'w' is of type 99"),
    "constant of nothing": (initializers(1, dims=[-1]), "negative extent"),
    "two constants": (initializers(2), "two of its constants are called 'w'"),
    "huge constant": (initializers(1, dims=[1 << 20, 1 << 20]), "does not fit its shape"),
    "two inputs": (lambda m: m.graph.input.append(m.graph.input[0]), "two of its inputs are"),
    "two outputs": (lambda m: m.graph.output.append(m.graph.output[0]), "two of its outputs are"),
    "no outputs": (lambda m: m.graph.ClearField("output"), "it has no outputs"),
    "input again": (redefine("x"), "Relu 'again' makes 'x', which is made already, as an input"),
    "constant again": (redefine("w"), "makes 'w', which is made already, as a constant"),
    "output again": (redefine("y"), "made already, as an output of Relu 'y'"),
    "unsorted": (read_late, "not sorted: Relu 'early' reads 'late', which Relu 'after' makes only"),
    "circle": (circle, "wait for each other in a circle: Relu 'one' -> Relu 'two' -> Relu 'one'"),
    "shape": (stated(1, 2, 4, 4), "states its output 'y' to be 1x2x4x4, but its nodes make y"),
    "rank": (stated(24), "to be 24, but"),
    "type": (stated(1, 2, 4, 3, kind=TensorProto.INT64), "to be int64 1x2x4x3, but"),
    "negative": (stated(-2, 2, 4, 3), "to be -2x2x4x3, but"),
    "new": (lambda m: setattr(m.opset_import[0], "version", 999), "operator set is 999"),
    "no version": (lambda m: m.ClearField("opset_import"), "operator set is not stated"),
}


@pytest.mark.parametrize("name", INVALID)
def test_models_that_are_not_valid(tmp_path: Path, name: str) -> None:
    change, message = INVALID[name]
    model = load_model(write(tmp_path / "m.onnx", [make_node("Relu", ["x"], ["y"])], X, {}))
    change(model)
    refused(save(model, tmp_path / "m.onnx"), message)


def test_stated_outputs_that_agree_load(tmp_path: Path) -> None:
    model = load_model(write(tmp_path / "m.onnx", [make_node("Relu", ["x"], ["y"])], X, {}))
    for change in (stated(1, 2, 4, 3), stated(0, 2, 4, 3)):
        change(model)
        assert load(save(model, tmp_path / "m.onnx")).outputs == ("y",)


@pytest.mark.parametrize("path", [None, 5, b"m.onnx", ["m.onnx"]])
def test_what_is_no_path(path: Any) -> None:
    with pytest.raises(ModelError, match="Give the path of an ONNX"):
        load(path)


def test_constants_that_no_memory_holds(tmp_path: Path) -> None:
    """A sum of two vectors, each along its own axis, would have 2^39 elements."""
    nodes = [make_node("Add", ["a", "b"], ["c"]), make_node("Add", ["x", "c"], ["y"])]
    constants = {"a": np.ones((1 << 19, 1), "f4"), "b": np.ones(1 << 20, "f4")}
    path = write(tmp_path / "m.onnx", nodes, {"x": (1 << 19, 1 << 20)}, constants)
    with pytest.raises(ModelError, match="does not fit into memory"):
        optimize(load(path))


def test_a_constant_that_is_missing(tmp_path: Path) -> None:
    path = write(
        tmp_path / "m.onnx", [make_node("Conv", ["x", "w"], ["y"])], {"x": (1, 2, 3, 3)}, {}
    )
    refused(path, "it is no valid ONNX model: Conv 'y' reads 'w', but nothing makes it")
