"""Code for any machine, and what `build`, `compile` and `emit` say of what they cannot take."""

# pyright: reportArgumentType=false
# (what is wrong on purpose)

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable

import numpy as np
import pytest
from benchmarks.models.resnet18 import build
from tests.schedule.programs import matmul, pointwise

import tilewright as tw
from tilewright import Schedule, Target
from tilewright.errors import ArgumentError, TargetError
from tilewright.graph.model import Model
from tilewright.ops import Dense
from tilewright.runtime.load import Loader, pointers

MACHINES = {"aarch64": 183, "neoverse-n1": 183, "x86-64": 62, "x86-64-v4": 62}  # in ELF's header


@pytest.fixture(scope="module")
def model() -> Model:
    return tw.load_onnx(build(image=32, width=8, blocks=(1,), classes=5))


@pytest.mark.parametrize("target", MACHINES)
@pytest.mark.parametrize("given", [str, Target])
def test_code_for_a_machine(target: str, given: Callable[[str], str | Target]) -> None:
    """It need not be this one: an object file, and the texts it was made of."""
    made = tw.emit(Schedule(matmul()).vectorize("x"), given(target), name="product")
    assert made.code[:4] == b"\x7fELF"
    assert struct.unpack_from("<H", made.code, 0x12)[0] == MACHINES[target]
    assert b"product" in made.code
    assert "define" in made.llvm
    assert "product:" in made.asm
    assert repr(made) == f"Artifact(product for {target}, {len(made.code)} bytes)"
    assert pickle.loads(pickle.dumps(made)) == made


def test_it_is_called_as_it_is_said_to_be() -> None:
    s = Schedule(Dense(4, 6, 8, bias=True).expression())
    made = tw.emit(s.parallel("y"), name="dense")
    assert made.calls
    rng = np.random.default_rng(0)
    arrays = {
        b.name: rng.standard_normal(b.shape).astype(b.dtype)  # pyright: ignore
        for b in made.parameters
    }
    loaded = Loader().load(made)
    loaded.run(pointers([arrays[b.name].ctypes.data for b in made.parameters]), 2)
    wanted = arrays["X"] @ arrays["W"] + arrays["B"]
    np.testing.assert_allclose(arrays["out"], wanted, rtol=1e-5, atol=1e-5)


def test_a_kernel_shows_what_an_artifact_does() -> None:
    kernel, made = tw.build(pointwise()), tw.emit(pointwise())
    assert (kernel.llvm, kernel.asm) == (made.llvm, made.asm)


@pytest.mark.parametrize("name", ["", "a b", "2x", "kernel.repeat", "\u00fc", None])
def test_names_are_those_of_c(name: str) -> None:
    with pytest.raises(ArgumentError, match="cannot name a function"):
        tw.emit(pointwise(), name=name)


@pytest.mark.parametrize("target", [3, b"x86-64-v3", Target, ["aarch64"]])
def test_what_is_no_target_is_said_to_be_none(target: object, model: Model) -> None:
    for call in (
        lambda: tw.build(pointwise(), target=target),
        lambda: tw.emit(pointwise(), target),
        lambda: tw.compile(model, target=target),
        lambda: tw.Task(pointwise(), target),
    ):
        with pytest.raises(TargetError, match=r"is no target: give a Target, its name such as"):
            call()


def test_a_network_is_compiled_for_a_level_by_name(model: Model) -> None:
    made = tw.compile(model, target="x86-64", threads=1)
    assert made(np.zeros((1, 3, 32, 32), np.float32)).shape == (1, 5)
    with pytest.raises(TargetError, match=r"emit\(\.\.\.\) compiles for other machines"):
        tw.compile(model, target="aarch64")


def test_an_operator_is_no_schedule() -> None:
    """It says how to come to one, and what it says works."""
    operator = Dense(8, 8, 8)
    for call in tw.build, tw.emit:
        with pytest.raises(ArgumentError, match=r"Task\(operator\)\.fallback\(\)"):
            call(operator)
        with pytest.raises(ArgumentError, match="cannot build <class"):
            call(Dense)
    assert tw.build(tw.Task(operator).fallback()).output.shape == (8, 8)
    assert tw.build(operator.expression()).output.shape == (8, 8)
