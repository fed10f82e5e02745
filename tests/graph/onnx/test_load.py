"""What `load` refuses, and the sentences it says; the operators are tested beside `operators`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from benchmarks.models import resnet18
from onnx import TensorProto, helper
from onnx.helper import make_node
from tests.graph.models import floats, save, write

from tilewright.errors import ModelError
from tilewright.graph.ir import Value
from tilewright.graph.onnx import load

RELU = [make_node("Relu", ["x"], ["y"])]


def small(tmp_path: Path) -> Path:
    return save(resnet18.build(32, 8, (1,), classes=5), tmp_path / "small.onnx")


def test_missing_file_and_directory(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none\.onnx: there is no such file"):
        load(tmp_path / "none.onnx")
    with pytest.raises(ModelError, match="it is a directory"):
        load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02" * 50, b"{}", b"no model\n" * 100])
def test_files_that_hold_no_model(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"bad\.onnx: it is no (whole )?ONNX model"):
        load(path)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.7, 0.999])
def test_truncated_file(tmp_path: Path, share: float) -> None:
    path = small(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(ModelError):
        load(path)


def test_weights_that_do_not_fit_their_shape(tmp_path: Path) -> None:
    model = resnet18.build(32, 8, (1,), classes=5)
    model.graph.initializer[0].raw_data = b"\0" * 12
    with pytest.raises(ModelError, match=r"constant 'conv1\.weight' does not fit"):
        load(save(model, tmp_path / "m.onnx"))


def test_external_weights(tmp_path: Path) -> None:
    model = resnet18.build(32, 8, (1,), classes=5)
    path = tmp_path / "m.onnx"
    onnx.save_model(model, str(path), save_as_external_data=True, location="m.data")
    inside = load(small(tmp_path)).constants
    assert all(np.array_equal(array, inside[n]) for n, array in load(path).constants.items())
    (tmp_path / "m.data").unlink()
    with pytest.raises(ModelError, match="its weights lie in another file"):
        load(path)


def test_all_unsupported_operators_are_listed_at_once(tmp_path: Path) -> None:
    nodes = [
        make_node("NonZero", ["x"], ["a"], name="first"),
        make_node("Unique", ["a"], ["b"], name="second"),
        make_node("Relu", ["b"], ["c"], name="fine"),
        make_node("Gemm", ["x", "x"], ["d"], name="third"),
        make_node("Clip", ["x", "", "six"], ["e"]),
        make_node("BatchNormalization", ["x", *"tttt"], ["f", "where", "more"], name="fourth"),
        make_node("Mine", ["x"], ["g"], name="fifth", domain="my.own"),
    ]
    outputs = ("c", "d", "e", "f", "where", "g")
    constants = {"six": np.full(5, 6, np.float32), "t": np.ones(2, np.float32)}
    path = write(tmp_path / "m.onnx", nodes, {"x": (1, 2, 3, 3)}, constants, outputs)
    with pytest.raises(ModelError) as error:
        load(path)
    text = str(error.value)
    assert "m.onnx: 6 nodes are not supported" in text
    for line in (
        "NonZero 'first': not supported",
        "Unique 'second': not supported",
        "Gemm 'third': a product of shapes (1, 2, 3, 3) and (1, 2, 3, 3), not of matrices",
        "Clip 'e': tensors of shapes (1, 2, 3, 3) and (5,) do not fit each other",
        "BatchNormalization 'fourth': its output 'where' is read, but is not computed",
        "Mine 'fifth': not supported",
        "operators are supported (docs/onnx.md lists them)",
    ):
        assert line in text
    assert "'fine'" not in text


def shapes_after(op: str) -> list[onnx.NodeProto]:
    """A refused node, and what exporters write to reshape by what comes of it."""
    return [
        make_node(op, ["x"], ["a"], name="first"),
        make_node("Shape", ["a"], ["s"], name="shape"),
        make_node("Gather", ["s", "zero"], ["n"], name="gather", axis=0),
        make_node("Unsqueeze", ["n", "axes"], ["u"], name="unsqueeze"),
        make_node("Mul", ["u", "two"], ["m"], name="mul"),
        make_node("Concat", ["m", "rest"], ["c"], name="concat", axis=0),
        make_node("Reshape", ["a", "c"], ["r"], name="reshape"),
        make_node("Reshape", ["x", "c"], ["q"], name="other"),
        make_node("Mul", ["r", "q"], ["p"], name="product"),
        make_node("Unique", ["p"], ["y"], name="pick"),
    ]


CONSTANTS: dict[str, Any] = {
    "zero": np.array(0), "axes": np.array([0]), "two": np.array([2]), "rest": np.array([-1]),
}  # fmt: skip


def test_what_follows_a_refused_node_counts_by_its_kind(tmp_path: Path) -> None:
    """Shapes are known without data, so what is computed of shapes is no operator of its own."""
    path = write(tmp_path / "m.onnx", shapes_after("NonZero"), {"x": (2, 3)}, CONSTANTS)
    with pytest.raises(ModelError) as error:
        load(path)
    listed = [line.strip() for line in str(error.value).splitlines()[1:-2]]
    by_data = (
        "not supported: the shape of what it makes depends on data, for which a compiled network "
        "has no room"
    )
    assert listed == [
        f"NonZero 'first': {by_data}",
        f"Unique 'pick': {by_data}",
    ]


def test_open_shapes_and_refused_nodes_are_said_together(tmp_path: Path) -> None:
    nodes = [*shapes_after("Relu"), make_node("Add", ["x", "z"], ["b"], name="sum")]
    inputs: dict[str, Any] = {"x": ("N", 3), "z": ("N", 3)}
    path = write(tmp_path / "m.onnx", nodes, inputs, CONSTANTS, ("y", "b"))
    with pytest.raises(ModelError) as error:
        load(path)
    text = str(error.value)
    assert "('x' of shape Nx3, 'z' of shape Nx3)" in text
    assert "shapes={'x': (1, 3), 'z': (1, 3)} in Python" in text
    assert "--shape x=1x3 --shape z=1x3 on the command line" in text
    assert "1 node is not supported" in text
    assert "Unique 'pick'" in text
    for fine in "shape", "gather", "concat", "reshape", "product", "sum":
        assert f"'{fine}'" not in text


@pytest.mark.parametrize("kind", ["path", "text", "proto"])
def test_models_are_files_or_protos(tmp_path: Path, kind: str) -> None:
    path = small(tmp_path)
    given: Any = {"path": path, "text": str(path), "proto": onnx.load(path)}[kind]
    before = onnx.load(path).SerializeToString()
    assert str(load(given)) == str(load(path))
    assert kind != "proto" or given.SerializeToString() == before


@pytest.mark.parametrize("what", [None, 3, b"bytes", ["m.onnx"]])
def test_what_is_no_model(what: Any) -> None:
    with pytest.raises(ModelError, match=r"the path of an ONNX file, or an onnx\.ModelProto"):
        load(what)


def test_protos_are_checked_like_files() -> None:
    with pytest.raises(ModelError, match="the given model: it is no whole ONNX model"):
        load(onnx.ModelProto())


@pytest.mark.parametrize(
    "shapes", [(1, 3, 8, 8), [("x", (1, 3))], {"x": "1x3x8x8"}, {"x": 3}, {"x": (1.5, 3)}, "x=1x3"]
)
def test_shapes_of_odd_forms(tmp_path: Path, shapes: Any) -> None:
    path = write(tmp_path / "m.onnx", RELU, {"x": ("N", 3, "H", "W")}, {})
    with pytest.raises(ModelError, match=r"as in shapes=\{'x': \(1, 3, 224, 224\)\}"):
        load(path, shapes)


def test_shapes_of_numpy(tmp_path: Path) -> None:
    path = write(tmp_path / "m.onnx", RELU, {"x": ("N", 3, "H", "W")}, {})
    forms: list[Any] = [[np.int64(2), 3, 8, 8], np.array([2, 3, 8, 8])]
    for shape in forms:
        assert load(path, {"x": shape}).inputs == (Value("x", (2, 3, 8, 8)),)


def test_refusals_of_shape_and_type(tmp_path: Path) -> None:
    constants = {"w": floats(np.random.default_rng(0), 2, 3, 3, 3), "d": np.zeros(3)}
    nodes = [
        make_node("Conv", ["x", "w"], ["a"], name="channels"),
        make_node("Add", ["x", "d"], ["b"], name="double"),
        make_node("Conv", ["x"], ["c"], name="inputs"),
        make_node("MaxPool", ["x"], ["e"], kernel_shape=[9, 9], name="large"),
        make_node("Reshape", ["x", "s"], ["f"], name="elements"),
    ]
    constants["s"] = np.array([5, 5])
    path = write(tmp_path / "m.onnx", nodes, {"x": (1, 2, 4, 3)}, constants, tuple("abcef"))
    with pytest.raises(ModelError) as error:
        load(path)
    for line in (
        "Conv 'channels': a convolution of 2 channels in 1 groups cannot use weights of 3 by 2",
        "Add 'double': ",
        "Conv 'inputs': Node",
        "MaxPool 'large': a window of 9x9",
        "Reshape 'elements': a tensor of shape (1, 2, 4, 3) cannot be reshaped to (5, 5)",
    ):
        assert line in str(error.value)


@pytest.mark.parametrize(
    ("op", "attributes", "message"),
    [
        ("Conv", {"strides": [2]}, r"strides \(2,\) are not 2 positive"),
        ("Conv", {"strides": [0, 1]}, r"strides \(0, 1\) are not 2 positive"),
        ("Conv", {"pads": [-1, 0, 0, 0]}, r"pads \(-1, 0, 0, 0\)"),
        ("Conv", {"kernel_shape": [2, 2]}, r"kernel_shape \(2, 2\) is not that of its weights"),
        ("MaxPool", {"kernel_shape": [2, 2], "pads": [2, 0, 0, 0]}, "as large as the window"),
        ("Transpose", {"perm": [0, 1]}, r"\(0, 1\) is no order"),
        ("Gemm", {}, "not of matrices"),
        ("MatMul", {}, "in which 3 and 1 do not agree"),
        ("Cast", {"to": 8}, "casts to string, in which nothing is computed"),
        ("Unknown", {}, "not supported"),
    ],
)
def test_refusals_of_attributes(
    tmp_path: Path, op: str, attributes: dict[str, Any], message: str
) -> None:
    inputs = ["x", "w"] if op in ("Conv", "Gemm", "MatMul") else ["x"]
    constants = {"w": floats(np.random.default_rng(0), 2, 2, 1, 1)}
    node = make_node(op, inputs, ["y"], **attributes)
    path = write(tmp_path / "m.onnx", [node], {"x": (1, 2, 4, 3)}, constants)
    with pytest.raises(ModelError, match=rf"1 node is not supported.\n  {op} 'y': .*{message}"):
        load(path)


def test_outputs_that_are_not_made_or_of_another_type(tmp_path: Path) -> None:
    path = write(tmp_path / "m.onnx", RELU, {"x": (2,)}, {}, ("y", "z"))
    with pytest.raises(ModelError, match="its output 'z' is read, but nothing makes it"):
        load(path)
    nodes = [*RELU, make_node("Shape", ["x"], ["z"])]
    path = write(tmp_path / "m.onnx", nodes, {"x": (2,)}, {}, ("y", "z"))
    with pytest.raises(ModelError, match=r"states its output 'z' to be float .* make z: int64 1"):
        load(path)


def test_open_shapes_say_how_to_give_them(tmp_path: Path) -> None:
    path = write(tmp_path / "m.onnx", RELU, {"x": ("N", 3, "H", "W")}, {})
    with pytest.raises(ModelError, match=r"'x' .* NxxHxW|NxxH|--shape x=1x3x224x224"):
        load(path)
    assert load(path, {"x": (2, 3, 8, 9)}).inputs == (Value("x", (2, 3, 8, 9)),)


def test_unknown_rank_takes_any_shape(tmp_path: Path) -> None:
    path = write(tmp_path / "m.onnx", RELU, {"x": None}, {})
    with pytest.raises(ModelError, match="--shape x="):
        load(path)
    assert load(path, {"x": (7,)}).inputs[0].shape == (7,)


@pytest.mark.parametrize("given", [(1, 4, 8, 8), (1, 3, 8), (0, 3, 8, 8)])
def test_shapes_that_do_not_fit(tmp_path: Path, given: tuple[int, ...]) -> None:
    path = write(tmp_path / "m.onnx", RELU, {"x": ("N", 3, "H", "W")}, {})
    with pytest.raises(ModelError, match="cannot have the shape"):
        load(path, {"x": given})
    with pytest.raises(ModelError, match=r"no such input.\n  its inputs: x"):
        load(path, {"data": (1, 3, 8, 8)})


def test_inputs_of_another_type(tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.COMPLEX64, [2])
    y = helper.make_tensor_value_info("y", TensorProto.COMPLEX64, [2])
    model = helper.make_model(helper.make_graph(RELU, "test", [x], [y]))
    with pytest.raises(ModelError, match="is of type complex64, in which nothing is computed"):
        load(save(model, tmp_path / "m.onnx"))


def test_old_operator_sets(tmp_path: Path) -> None:
    path = write(tmp_path / "m.onnx", RELU, {"x": (2,)}, {}, opset=6)
    with pytest.raises(ModelError, match="operator set 6, older than 7"):
        load(path)


def test_initializers_may_be_listed_as_inputs(tmp_path: Path) -> None:
    """Exporters before IR version 4 listed every weight as an input, too."""
    nodes = [make_node("Add", ["x", "c"], ["y"])]
    constants = {"c": np.ones(2, np.float32)}
    path = write(tmp_path / "m.onnx", nodes, {"x": (2,), "c": (2,)}, constants)
    assert [value.name for value in load(path).inputs] == ["x"]


SUM = [make_node("Add", ["x", "z"], ["y"])]


def pair(tmp_path: Path) -> Path:
    inputs: dict[str, Any] = {"x": ("batch", "seq"), "z": ("batch", 1)}
    return write(tmp_path / "m.onnx", SUM, inputs, {})


def test_dimensions_are_fixed_by_name(tmp_path: Path) -> None:
    path = pair(tmp_path)
    wanted = (Value("x", (2, 5)), Value("z", (2, 1)))
    forms: list[dict[str, Any]] = [
        {"batch": 2, "seq": 5}, {"batch": (2,), "seq": [np.int64(5)]}, {"batch": 2, "x": (2, 5)},
    ]  # fmt: skip
    for shapes in forms:
        assert load(path, shapes).inputs == wanted


def test_an_input_may_have_the_name_of_a_dimension(tmp_path: Path) -> None:
    matrix = write(tmp_path / "m.onnx", RELU, {"x": ("x", 3)}, {})
    assert load(matrix, {"x": 2}).inputs == load(matrix, {"x": (2, 3)}).inputs
    assert load(matrix, {"x": (2,)}).inputs[0].shape == (2, 3)
    vector = write(tmp_path / "v.onnx", RELU, {"x": ("x",)}, {})
    assert load(vector, {"x": (4,)}).inputs == load(vector, {"x": 4}).inputs


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        (
            {"x": (2, 5)},
            "('z' of shape batchx1); a model compiles for fixed ones.\n"
            "  Give them: shapes={'z': (2, 1)} in Python, --shape z=2x1 on the command line.\n"
            "  Or fix dimensions by name, wherever they occur: shapes={'batch': 2}, "
            "--shape batch=2.",
        ),
        ({"seq": 5}, "shapes={'x': (1, 5), 'z': (1, 1)} in Python"),
        ({"seq": 5}, "('x' of shape batchx5, 'z' of shape batchx1)"),
        ({}, "--shape batch=1 --shape seq=1."),
        ({"batch": 3, "x": (2, 5)}, "'batch' of"),
        ({"batch": 3, "x": (2, 5)}, "the shape 2x5, given for input 'x', makes it 2."),
        ({"batch": 0}, "cannot be 0: give a size from 1"),
        ({"batch": -1}, "cannot be -1: give a size from 1"),
        ({"width": 3}, "its inputs: x, z\n  its named dimensions: batch, seq"),
        ({"x": 3}, "cannot read shape 3 of input 'x'"),
        ({"batch": True}, "cannot read shape True"),
        ({"batch": (1, 2)}, "no such input"),
    ],
)
def test_dimensions_that_cannot_be(tmp_path: Path, shapes: dict[str, Any], said: str) -> None:
    with pytest.raises(ModelError) as error:
        load(pair(tmp_path), shapes)
    assert said in str(error.value)


def test_a_compiled_network_is_told_from_a_model(tmp_path: Path) -> None:
    path = tmp_path / "net.twm"
    path.write_bytes(b"\x89TWM")
    with pytest.raises(
        ModelError, match=r"net\.twm: it is a compiled network.*\n.*tilewright\.load"
    ):
        load(path)
