"""The benchmark of memory: each subject in a process of its own, and what its table says."""

from __future__ import annotations

import doctest
import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import memory, networks
from benchmarks.memory import Memory, measured, shown, status
from benchmarks.models import dqn
from benchmarks.models.net import save

from tilewright.graph.compile import compile
from tilewright.graph.model import load_onnx
from tilewright.runtime.cpu import surely_runs
from tilewright.target import host

MB = 1_000_000
HEAVY = (
    "onnx", "sqlalchemy", "xgboost", "torch", "tilewright.codegen.llvm.module",
    "tilewright.codegen.llvm.compile", "tilewright.tuning", "tilewright.graph.onnx",
    "tilewright.graph.operators", "tilewright.graph.passes",
    *["llvmlite"] * surely_runs(host()),
)  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, and beside it what it is compiled to."""
    path = tmp_path_factory.mktemp("memory") / "dqn.onnx"
    save(dqn.build(44, 4, 16), path)
    compile(load_onnx(path)).save(path.with_suffix(".twm"))
    return path


def test_examples() -> None:
    assert doctest.testmod(memory).failed == 0


def test_the_networks_are_those_of_the_benchmark() -> None:
    assert set(memory.NETWORKS) <= set(networks.NETWORKS)


def test_memory_of_this_process_is_known() -> None:
    before = status()
    held = np.ones(64 * MB, np.uint8)
    after = status()
    assert after["VmHWM"] >= after["VmRSS"] >= after["RssAnon"]
    assert after["RssAnon"] - before["RssAnon"] > 60 * MB
    assert held.any()


@pytest.mark.parametrize("subject", ["tilewright", "onnxruntime"])
def test_a_subject_runs_in_a_process_that_has_none_of_our_memory(subject: str, model: Path) -> None:
    """A fork would begin with the peak of this process, which is made great here."""
    if importlib.util.find_spec(subject) is None:
        pytest.skip(f"there is no {subject}")
    file = model.with_suffix(".twm") if subject == "tilewright" else model
    held = np.ones(300 * MB, np.uint8)
    made = measured(subject, file, 2)
    assert 0 < made.numpy < made.library <= made.peak < 250 * MB
    assert 0 < made.private < made.peak
    assert held.any()


def test_one_that_cannot_run_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "no.twm").write_bytes(b"nothing")
    with pytest.raises(RuntimeError, match=r"tilewright does not run no\.twm: .*cannot load"):
        measured("tilewright", tmp_path / "no.twm", 1)


def test_ours_reads_no_model_and_generates_no_code(model: Path) -> None:
    """What a network does not need to run is not in its process: it would take memory."""
    code = (
        "import sys, numpy as np, tilewright as tw\n"
        f"module = tw.load({str(model.with_suffix('.twm'))!r})\n"
        "module(*(np.zeros(v.shape, v.dtype) for v in module.inputs))\n"
        f"print([name for name in {HEAVY} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_table_says_how_much_less_ours_takes() -> None:
    ours, theirs = Memory(20 * MB, 30 * MB, 60 * MB, 40 * MB), Memory(20 * MB, 40 * MB, 90 * MB, MB)
    rows = {
        "dqn, 1 thread": {"tilewright": ours, "onnxruntime": theirs, "openvino": theirs},
        "dcgan, 1 thread": {"onnxruntime": theirs},
    }
    first, second, *_ = shown(rows).split("\n\n")
    assert first.splitlines() == [
        "| peak, MB | tilewright | onnxruntime | openvino | onnxruntime / tilewright "
        "| openvino / tilewright |",
        "| --- | --- | --- | --- | --- | --- |",
        "| dqn, 1 thread | 60.0 | 90.0 | 90.0 | 1.50 x | 1.50 x |",
        "| dcgan, 1 thread | - | 90.0 | - | - | - |",
        "| geometric mean | | | | 1.50 x | |",
    ]
    assert "| dqn, 1 thread | 40.0 | 70.0 | 70.0 | 1.75 x | 1.75 x |" in second
