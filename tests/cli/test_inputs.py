"""What bench and profile run a network on, and what bench says of two sides' results."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.graph.models import save

from tilewright.cli.compare import difference
from tilewright.cli.inputs import described, read_inputs
from tilewright.cli.main import run
from tilewright.errors import ArgumentError
from tilewright.graph.ir import Value
from tilewright.graph.random import random_inputs

Command = Callable[..., tuple[int, str, str]]
KINDS = {"bool": TensorProto.BOOL, "int64": TensorProto.INT64, "float32": TensorProto.FLOAT}
NAN, INF = float("nan"), float("inf")


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tilewright.measure.peak.peak", lambda threads=1: 1e12 * threads)
    monkeypatch.setattr("tilewright.cli.bench._SETTLE", 0.0)

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tilewright", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return call


def network(path: Path, nodes: list[Any], inputs: dict[str, Value], output: Value) -> Path:
    def info(value: Value) -> Any:
        return helper.make_tensor_value_info(value.name, KINDS[value.dtype], value.shape)

    table = numpy_helper.from_array(np.eye(5, 3, dtype=np.float32) + 1, "table")
    graph = helper.make_graph(
        nodes, "test", [info(v) for v in inputs.values()], [info(output)], [table]
    )
    opsets = [helper.make_opsetid("", 17)]
    return save(helper.make_model(graph, ir_version=8, opset_imports=opsets), path)


@pytest.fixture
def masked(tmp_path: Path) -> Path:
    """A table looked up where a mask holds, minus infinity elsewhere, and a softmax of it."""
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"]),
        helper.make_node("Constant", [], ["low"], value_float=-INF),
        helper.make_node("Where", ["mask", "rows", "low"], ["kept"]),
        helper.make_node("Softmax", ["kept"], ["y"]),
    ]
    inputs = {"ids": Value("ids", (4,), "int64"), "mask": Value("mask", (4, 3), "bool")}
    return network(tmp_path / "m.onnx", nodes, inputs, Value("y", (4, 3)))


def test_masks_and_indices_are_drawn_so_that_numbers_come_out(command: Command, masked: Path):
    pytest.importorskip("onnxruntime")
    code, out, err = command("bench", masked, "--rounds", 1)
    assert (code, err) == (0, "")
    assert "ids: whole numbers from 0 to 1; mask: true at 9 of 10" in out, "5 rows refuse a 7"
    assert re.search(r"results: \S+ of the largest value \(up to 0\.001 they agree\)", out)
    assert "NaN" not in out


def test_nan_on_both_sides_is_counted(command: Command, masked: Path, tmp_path: Path):
    pytest.importorskip("onnxruntime")
    mask = np.ones((4, 3), bool)
    mask[1] = False
    np.savez(tmp_path / "in.npz", mask=mask, ids=np.arange(4))
    code, out, err = command("bench", masked, "--rounds", 1, "--inputs", "in.npz")
    assert (code, err) == (0, "")
    assert "inputs: those of in.npz" in out
    assert "both are NaN at 3 of 12 elements" in out
    np.savez(tmp_path / "in.npz", mask=np.zeros((4, 3), bool), ids=np.arange(4))
    code, out, err = command("bench", masked, "--rounds", 1, "--inputs", "in.npz")
    assert (code, err) == (1, ""), "nothing was compared"
    assert "both are NaN at 12 of 12 elements" in out
    assert "the results do not agree" in out


def test_booleans_are_compared(command: Command, tmp_path: Path):
    pytest.importorskip("onnxruntime")
    nodes = [helper.make_node("Greater", ["x", "z"], ["y"])]
    inputs = {name: Value(name, (4, 3)) for name in "xz"}
    path = network(tmp_path / "m.onnx", nodes, inputs, Value("y", (4, 3), "bool"))
    code, out, err = command("bench", path, "--rounds", 1)
    assert (code, err) == (0, "")
    assert "largest difference between the results: 0 of" in out


def test_results_that_differ_end_with_1(
    command: Command, masked: Path, monkeypatch: pytest.MonkeyPatch
):
    def other(*_: Any) -> Any:
        return lambda _: [np.full((4, 3), 0.5, np.float32)]

    monkeypatch.setattr("tilewright.cli.bench._onnxruntime", other)
    code, out, err = command("bench", masked, "--rounds", 1)
    assert (code, err) == (1, "")
    assert re.search(r"y differs by [\d.]+ \(at most 0\.001 is taken for equal\)", out)
    assert "the results do not agree" in out
    assert "median ms" in out


def one() -> bytes:
    file = io.BytesIO()
    np.save(file, np.ones(3))
    return file.getvalue()


@pytest.mark.parametrize("subcommand", [("profile",), ("bench", "--vs", "none")])
def test_inputs_come_from_a_file(
    command: Command, masked: Path, tmp_path: Path, subcommand: tuple[str, ...]
):
    np.savez(tmp_path / "in.npz", mask=np.ones((4, 3), bool), ids=np.arange(4))
    code, out, err = command(*subcommand, masked, "--inputs", "in.npz")
    assert (code, err) == (0, "")
    assert "inputs: those of in.npz" in out


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda _: None, "No such file or directory; write it by numpy.savez"),
        (lambda path: path.write_text("no arrays"), "write it by numpy.savez"),
        (lambda path: path.write_bytes(b""), "write it by numpy.savez"),
        (lambda path: path.write_bytes(b"PK\3\4 cut"), "write it by numpy.savez"),
        (lambda path: path.write_bytes(one()), "it holds one array"),
        (lambda path: np.savez(path, a=np.ones(3, object)), "write it by numpy.savez"),
        (lambda path: np.savez(path, ids=np.arange(4)), "mask: bool 4x3 is missing"),
        (lambda path: np.savez(path, nobody=np.arange(4)), "there is no input 'nobody'"),
        (
            lambda path: np.savez(path, ids=np.arange(4, dtype=np.int32), mask=np.ones((4, 3))),
            'given as int32 4 (convert it: .astype("int64")); mask: bool 4x3 is given as float64',
        ),
    ],
)
def test_files_that_do_not_fit(tmp_path: Path, write: Callable[[Path], Any], said: str):
    path = tmp_path / "in.npz"
    write(path)
    values = (Value("ids", (4,), "int64"), Value("mask", (4, 3), "bool"))
    with pytest.raises(ArgumentError) as error:
        read_inputs(values, path)
    assert said in str(error.value)
    assert str(path) in str(error.value)


def test_random_inputs_of_every_kind():
    dtypes = ("float32", "float16", "bool", "uint8", "int8", "int32", "uint64")
    values = [Value(dtype, (50, 40), dtype) for dtype in dtypes]
    made = random_inputs(values)
    assert {name: str(array.dtype) for name, array in made.items()} == {d: d for d in dtypes}
    assert all(array.shape == (50, 40) for array in made.values())
    assert 0.8 < made["bool"].mean() < 1
    assert made["bool"][:, 0].all()
    assert (made["uint8"].max(), made["int8"].min()) == (255, -128)
    for name in "int32", "uint64":
        assert (made[name].min(), made[name].max()) == (0, 7)
    small = random_inputs(values, 1)
    assert {small[name].max() for name in ("int8", "uint8", "int32", "uint64")} == {1}
    said = described(values, None, 1)
    assert "float32, float16: normal numbers; bool: true at 9 of 10" in said
    assert "uint8, int8, int32, uint64: whole numbers from 0 to 1" in said


@pytest.mark.parametrize("dtype", ["bool", "int64", "uint8", "float32"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3)])
def test_random_inputs_of_odd_shapes(dtype: str, shape: tuple[int, ...]):
    (array,) = random_inputs([Value("x", shape, dtype)]).values()
    assert (array.shape, str(array.dtype)) == (shape, dtype)


@pytest.mark.parametrize(
    ("own", "other", "dtype", "share", "both", "agrees"),
    [
        ([True, False, True, True], [True, True, True, True], "bool", 0.25, 0, False),
        ([3, 250], [5, 250], "uint8", 1 / 250, 0, False),
        ([3, 250], [4, 249], "uint8", 0.0, 0, True),
        ([3, 2**40], [4, 2**40], "int64", 2**-40, 0, True),
        ([0, 1], [1, 0], "uint32", 1.0, 0, False),
        ([1.0, 2.0], [1.0, 2.001], "float32", 0.001 / 2.001, 0, True),
        ([1.0, 2.0], [1.0, 2.01], "float32", 0.01 / 2.01, 0, False),
        ([1.0, 2.0], [1.0, 2.01], "float16", 0.01 / 2.01, 0, True),
        ([NAN, 2.0], [NAN, 2.0], "float32", 0.0, 1, True),
        ([NAN, NAN], [NAN, NAN], "float32", 0.0, 2, False),
        ([NAN, 2.0], [1.0, 2.0], "float32", INF, 0, False),
        ([INF, -INF], [INF, -INF], "float32", 0.0, 0, True),
        ([INF, 2.0], [-INF, 2.0], "float32", INF, 0, False),
        ([0.0, 0.0], [0.0, 0.0], "float32", 0.0, 0, True),
        ([], [], "float32", 0.0, 0, True),
        ([1.0], [1.0, 2.0], "float32", INF, 0, False),
    ],
)
def test_differences_by_kind(
    own: list[Any], other: list[Any], dtype: str, share: float, both: int, agrees: bool
):
    found = difference("y", np.array(own, dtype), np.array(other, dtype))
    assert found.share == pytest.approx(share, rel=0.05)
    assert (found.both, found.agrees) == (both, agrees)
