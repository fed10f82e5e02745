"""The networks of packages, without a package index: a wheel made here stands for theirs."""

from __future__ import annotations

import doctest
import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from benchmarks.packages import __main__ as command
from benchmarks.packages import check as checking
from benchmarks.packages import document as page
from benchmarks.packages.check import Outcome, check, compared
from benchmarks.packages.fetch import fetched, taken
from benchmarks.packages.inputs import Input, Page, Uniform, Whole, drawn
from benchmarks.packages.network import Network, Package
from onnx import TensorProto, helper

from tilewright.errors import ModelError

WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3)
NOTE = b"weights that lie beside"


def small(kind: str = "MatMul", domain: str = "") -> bytes:
    """Return a network of one open extent: x(N, 4) and weights (4, 3), through `kind`."""
    graph = helper.make_graph(
        [helper.make_node(kind, ["x", "w"], ["y"], domain=domain)],
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])],
        [onnx.numpy_helper.from_array(WEIGHTS, "w")],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("elsewhere", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def network() -> Network:
    return Network(
        "small",
        Package("some-package", "1.2", "MIT"),
        "some_package/models/small.onnx",
        digest(small()),
        (Input((2, 4)),),
        beside=(("some_package/models/small.bin", digest(NOTE)),),
    )


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Return a cache that holds the wheel of a package."""
    (tmp_path / "wheels").mkdir()
    with zipfile.ZipFile(tmp_path / "wheels" / "some_package-1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr("some_package/models/small.onnx", small())
        wheel.writestr("some_package/models/small.bin", NOTE)
        wheel.writestr("../outside.onnx", small())
    return tmp_path


def test_examples() -> None:
    assert doctest.testmod(command).failed == 0
    assert doctest.testmod(checking).failed == 0
    assert doctest.testmod(page).failed == 0


def test_a_network_is_taken_out_of_a_wheel_and_agrees(network: Network, cache: Path) -> None:
    path = fetched(network, cache)
    assert path == cache / "networks" / "small" / "small.onnx"
    assert path.with_name("small.bin").read_bytes() == NOTE
    outcome = check(network, path)
    assert (outcome.verdict, outcome.operators, outcome.detail) == ("agrees", 1, "")
    assert outcome.off is not None
    assert outcome.off < 1e-6
    assert outcome.seconds is not None


def test_a_file_that_changed_is_not_taken(network: Network, cache: Path) -> None:
    wheel = cache / "wheels" / "some_package-1.2-py3-none-any.whl"
    changed = replace(network, sha256="0" * 64)
    with pytest.raises(ModelError, match=r"SHA-256 .*, not 0{64}\.\n  Delete"):
        taken(wheel, changed, cache / "networks")
    assert not list((cache / "networks").iterdir())


def test_a_file_that_is_not_there_is_named(network: Network, cache: Path) -> None:
    with pytest.raises(ModelError, match=r"it has no some_package/other.onnx"):
        fetched(replace(network, file="some_package/other.onnx"), cache)


def test_nothing_is_written_outside(network: Network, cache: Path) -> None:
    path = fetched(replace(network, file="../outside.onnx", beside=()), cache)
    assert path == cache / "networks" / "small" / "outside.onnx"
    assert not (cache / "networks" / "outside.onnx").exists()


def test_only_wheels_are_asked_for(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Sequence[str]] = []

    def run(arguments: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(arguments)
        return subprocess.CompletedProcess(arguments, 1, "", "a warning\nERROR: no such package\n")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(ModelError, match=r"cannot fetch some-package==1\.2: ERROR: no such"):
        fetched(network, tmp_path)
    assert {"--no-deps", "--only-binary", ":all:"} <= set(asked[0])


def test_what_is_refused_says_why(network: Network, tmp_path: Path) -> None:
    path = tmp_path / "odd.onnx"
    path.write_bytes(small("Oddity", "elsewhere"))
    outcome = check(network, path)
    assert outcome.verdict == "refused"
    assert outcome.detail.startswith("cannot load odd.onnx: ")
    assert "Oddity" in outcome.detail


def test_what_is_wrong_is_found(
    network: Network, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "by_onnxruntime", lambda *_: [np.ones((2, 3), np.float32)])
    outcome = check(network, fetched(network, cache))
    assert outcome.verdict == "wrong"
    assert "output 'y' is off by" in outcome.detail


def test_outputs_are_compared_by_type_shape_and_value() -> None:
    ones, nan = np.ones(2, np.float32), np.array([1, np.nan], np.float32)
    assert compared(["a"], [ones], [ones], 0) == ([], 0)
    assert compared(["a"], [nan], [nan], 0) == ([], 0)
    for ours, theirs, said in (
        (ones, ones[:1], r"is float32[2], not float32[1]"),
        (ones, ones.astype(np.int64), r"is float32[2], not int64[2]"),
        (ones, nan, "is off by inf"),
        (nan, ones, "is off by inf"),
        (np.zeros(2, np.float32), ones, "is off by 1 "),
    ):
        problems, _ = compared(["a"], [ours], [theirs], 1e-3)
        assert said in problems[0]


@pytest.mark.parametrize("draw", [Uniform(-2, 3), Whole(2, 5), Page()])
def test_inputs_come_from_their_seed(draw: Uniform | Whole | Page) -> None:
    first, again, other = (
        drawn(Input((1, 3, 40, 50), draw), "float32", np.random.default_rng(seed))
        for seed in (0, 0, 1)
    )
    assert first.shape == (1, 3, 40, 50)
    assert first.dtype == np.float32
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_whole_numbers_reach_both_ends() -> None:
    ids = drawn(Input((100,), Whole(2, 4)), "int64", np.random.default_rng(0))
    assert set(ids.tolist()) == {2, 3, 4}
    assert drawn(Input((), Whole(7, 7)), "int64", np.random.default_rng(0)) == 7


def test_each_network_is_registered_well() -> None:
    networks = command.NETWORKS.values()
    assert len(networks) == sum(map(len, command.GROUPS.values()))  # names differ
    for network in networks:
        for path, sha256 in ((network.file, network.sha256), *network.beside):
            assert not Path(path).is_absolute()
            assert len(sha256) == 64
            int(sha256, 16)
        assert network.file.endswith(".onnx")
        assert 0 < network.tolerance < 0.1


def test_a_child_that_dies_leaves_its_last_words() -> None:
    assert command.told(-11, "", "") == Outcome("crashed", detail="it says nothing (signal 11)")
    said = command.told(1, "printed\n", "Traceback\nMemoryError\n")
    assert said == Outcome("crashed", detail="MemoryError (status 1)")


def test_a_process_for_each_network(
    network: Network,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    other, gone = replace(network, name="other"), replace(network, name="gone", file="gone.onnx")
    monkeypatch.setattr(command, "NETWORKS", {n.name: n for n in (network, other, gone)})

    def child(arguments: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
        assert list(arguments[:3]) == [sys.executable, "-m", "benchmarks.packages"]
        if arguments[4] == "other":
            return subprocess.CompletedProcess(arguments, -9, "", "")
        monkeypatch.setattr(command.resource, "setrlimit", lambda *_: None)
        assert command.main(list(arguments[3:])) == 0
        return subprocess.CompletedProcess(arguments, 0, capsys.readouterr().out, "")

    monkeypatch.setattr(subprocess, "run", child)
    assert command.main(["--cache", str(cache), "--only", "small", "gone"]) == 0
    assert command.main(["--cache", str(cache)]) == 1  # one crashed
    shown = capsys.readouterr().out
    assert "| small | some-package 1.2 | 1 | " in shown
    assert "| other | some-package 1.2 | | | | crashed: it says nothing (signal 9) |" in shown
    assert "| absent: cannot take gone out of some_package-1.2-py3-none-any.whl" in shown
    assert shown.endswith("1 agree, 1 crashed, 1 absent.\n")


def test_the_page_says_what_became_of_each(network: Network) -> None:
    other, branch = replace(network, name="other"), replace(network, name="branch", control="If")
    outcomes = {
        "small": Outcome("agrees", 7, 1.0, 2e-7),
        "other": Outcome("refused", 8, detail="cannot load m:\n  Det 'a': not supported"),
        "branch": Outcome("refused", 9, detail="cannot load m:\n  If 'b': not supported"),
    }
    text = page.document({"Small": (network, other), "More": (branch,)}, outcomes)
    assert "Of 2 networks without control flow, **1 agree with ONNX Runtime**; none are" in text
    assert "Of 1 with control flow, none can be compiled." in text
    assert "| small | some-package: small.onnx | 7 | 2 x 4 | 2e-07 | |" in text
    assert "| other | some-package: small.onnx | 8 | 2 x 4 | | refused: Det |" in text
    assert "| branch | some-package: small.onnx | 9 | 2 x 4 | | refused: If |" in text
    assert text.endswith("| some-package | 1.2 | MIT |\n")


def test_the_page_has_every_network() -> None:
    text = command.PAGE.read_text()
    assert [name for name in command.NETWORKS if f"| {name} |" not in text] == []


def test_a_page_of_some_networks_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--record", "--only", "magika"])
    assert "leave out --only" in capsys.readouterr().err
