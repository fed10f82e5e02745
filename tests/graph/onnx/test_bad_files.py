"""Files that are broken, or that ask for what lies outside of their folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.helper import make_node
from tests.graph.models import save, write

import tilewright as tw
from tilewright.errors import ModelError
from tilewright.graph.onnx import load

RELU = [make_node("Relu", ["x"], ["y"])]


def beside(folder: Path, location: str, length: int = 24) -> Path:
    """Write a model whose weights are said to lie at `location`."""
    graph = helper.make_graph(
        [make_node("Mul", ["x", "w"], ["y"])],
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
    )
    weights = TensorProto(
        name="w", data_type=TensorProto.FLOAT, dims=[2, 3], data_location=TensorProto.EXTERNAL
    )
    for key, value in (("location", location), ("offset", "0"), ("length", str(length))):
        weights.external_data.add(key=key, value=value)
    graph.initializer.append(weights)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    return save(model, folder / "m.onnx")


def weights_at(path: Path, count: int = 6) -> Path:
    path.write_bytes(np.arange(count, dtype=np.float32).tobytes())
    return path


def test_weights_beside_the_model(tmp_path: Path) -> None:
    weights_at(tmp_path / "w.bin")
    (array,) = load(beside(tmp_path, "w.bin")).constants.values()
    np.testing.assert_array_equal(array, np.arange(6, dtype=np.float32).reshape(2, 3))


def test_weights_that_reach_outside_of_the_folder(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    outside = weights_at(tmp_path / "w.bin")
    (inside / "link.bin").symlink_to(outside)
    for location in ("../w.bin", str(outside), "link.bin", "missing.bin", "", "."):
        path = beside(inside, location)
        with pytest.raises(ModelError, match=r"m\.onnx: .*"):
            load(path)


@pytest.mark.parametrize("length", [24, 96, 3])
def test_weights_that_are_cut_off(tmp_path: Path, length: int) -> None:
    weights_at(tmp_path / "w.bin", 6 if length == 3 else 2)
    with pytest.raises(ModelError, match=r"m\.onnx: "):
        load(beside(tmp_path, "w.bin", length))


def test_weights_of_a_model_that_was_given(tmp_path: Path) -> None:
    weights_at(tmp_path / "w.bin")
    model = onnx.load(str(beside(tmp_path, "w.bin")), load_external_data=False)
    with pytest.raises(ModelError, match="the given model"):
        load(model)


@pytest.mark.parametrize("data", [b"\x08", b"\x08\x08" * 9, bytes(64), b"\x80\x02}q\x00."])
def test_what_is_no_model(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "m.onnx").write_bytes(data)
    with pytest.raises(ModelError, match="it is no whole ONNX model"):
        load(tmp_path / "m.onnx")


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"


@pytest.mark.parametrize("suffix", [".onnx", ".pb", ".json", ".textproto"])
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "an empty file.\n  Copy or export it again."),
        (POINTER, "a pointer of Git LFS, which stands for the model until that is fetched.\n  Run"),
        (b"not a model \xc3\xa4" * 99, "a text, which begins 'not a model änot a model änot"),
        (b"\n<!DOCTYPE html>\n<html>", "a web page, or another text of marks.\n  Download the"),
        (b"PK\x03\x04" + bytes(50), "a ZIP archive, as torch.save writes.\n  Unpack it, or export"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file, as Keras writes.\n  Convert it"),
        (b"\x7fELF\x02\x01", "a program or a library.\n  Give the model that"),
    ],
)
def test_what_is_something_else_is_named(
    tmp_path: Path, data: bytes, said: str, suffix: str
) -> None:
    path = tmp_path / f"m{suffix}"
    path.write_bytes(data)
    with pytest.raises(ModelError) as raised:
        load(path)
    assert str(raised.value).startswith(f"cannot load {path}: it is no ONNX model, but {said}"), (
        raised.value
    )


def test_paths_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "folder.onnx").mkdir()
    for name, said in (
        ("folder.onnx", "it is a directory"),
        ("missing.onnx", "there is no such file"),
        ("x" * 300, "File name too long"),
        ("nul\0", "there is no such file"),
    ):
        with pytest.raises(ModelError, match=f"{said}.\n  Give the path of an ONNX model"):
            load(tmp_path / name)


def test_a_model_that_is_cut_off_anywhere(tmp_path: Path) -> None:
    constants = {"w": np.ones((2, 3), np.float32)}
    nodes = [make_node("Mul", ["x", "w"], ["y"])]
    data = write(tmp_path / "m.onnx", nodes, {"x": (2, 3)}, constants).read_bytes()
    for end in range(0, len(data), 3):
        (tmp_path / "cut.onnx").write_bytes(data[:end])
        with pytest.raises(ModelError, match=r"cut\.onnx"):
            load(tmp_path / "cut.onnx")


def test_open_extents_of_old_exporters_are_open(tmp_path: Path) -> None:
    """Some write -1, some 0; a 0 that is meant is given."""
    for extent in (-1, 0):
        path = write(tmp_path / "m.onnx", RELU, {"x": (2, 3)}, {})
        model = onnx.load(str(path))
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = extent
        save(model, path)
        with pytest.raises(ModelError, match="extents of its inputs open") as raised:
            load(path)
        meant = "if it is meant, give it: shapes={'x': (0, 3)}"
        assert (meant in str(raised.value)) == (extent == 0)
        assert load(path, {"x": (5, 3)}).inputs[0].shape == (5, 3)
        with pytest.raises(ModelError, match="cannot have the shape"):
            load(path, {"x": (-1, 3)})
    empty = tw.load_onnx(path, {"x": (0, 3)})
    assert empty.graph.inputs[0].shape == (0, 3)
    assert tw.compile(empty, threads=1)(np.zeros((0, 3), np.float32)).shape == (0, 3)


def test_shapes_that_contradict_each_other(tmp_path: Path) -> None:
    nodes = [make_node("Add", ["x", "z"], ["y"])]
    path = write(tmp_path / "m.onnx", nodes, {"x": (2, 3), "z": (2, 4)}, {})
    with pytest.raises(ModelError, match=r"\(2, 3\) and \(2, 4\) do not fit"):
        load(path)
