"""Machines that cannot be are refused in words: LLVM would end the process."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.schedule.programs import pointwise

from tilewright import Schedule, Target, host
from tilewright.errors import TargetError
from tilewright.ops.dense import Dense
from tilewright.runtime.artifact import compile_nest
from tilewright.runtime.build import build

LEVEL = Target("x86-64-v3")
X86 = pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="x86 code")


@pytest.mark.parametrize(
    "wrong",
    [
        {"features": ("avx2",)},
        {"features": "+avx2"},
        {"features": ["+avx2"]},
        {"features": ("+avx2,+fma",)},
        {"features": ("",)},
        {"features": ("+",)},
        {"vector_bytes": 24},
        {"vector_bytes": 1024},
        {"vector_bytes": -16},
        {"vector_bytes": 32.0},
        {"registers": -1},
        {"cores": 0},
        {"cores": True},
        {"cores": "4"},
        {"caches": (0,)},
        {"caches": (32768.0,)},
        {"caches": 32768},
        {"cpu": 5},
    ],
    ids=str,
)
def test_impossible_values_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(TargetError, match="cannot describe a machine by"):
        replace(LEVEL, **wrong)


@X86
@pytest.mark.parametrize(
    ("cpu", "features"),
    [
        ("nonsense", ()),
        ("i386", ()),
        ("x86-64-v3", ("+made-up",)),
        ("x86-64-v3", ("-64bit",)),
        ("x86-64-v3", ("-64bit-mode",)),
    ],
)
def test_what_llvm_does_not_know_is_refused(cpu: str, features: tuple[str, ...]) -> None:
    target = replace(LEVEL, cpu=cpu, features=features)
    with pytest.raises(TargetError, match="cannot generate code for 'x86-64-v3': LLVM says"):
        compile_nest(Schedule(pointwise()).loops, target)


@X86
def test_what_llvm_knows_is_compiled() -> None:
    for target in (LEVEL, replace(LEVEL, cpu="znver3"), replace(LEVEL, features=("-fma",)), host()):
        assert compile_nest(Schedule(pointwise()).loops, target).code


def test_targets_are_values() -> None:
    assert pickle.loads(pickle.dumps(host())) == replace(host()) == host()


def test_machines_and_buffers_print_in_a_line() -> None:
    """However many features a machine has, and whatever a buffer is laid out by."""
    for target in host(), replace(host(), name="x"), LEVEL, replace(LEVEL, cores=4):
        assert len(repr(target)) < 160
    assert repr(LEVEL) == "Target('x86-64-v3')"
    assert repr(replace(LEVEL, cores=4)) == (
        "Target(x86-64-v3: x86-64-v3 of x86_64, 256-bit vectors, 16 registers, 4 cores, 0 features)"
    )
    s = Schedule(Dense(64, 64, 64).expression()).split("k", (8, 8)).pack("W")
    shown = [repr(b) for b in s.loops.buffers]
    assert shown[0] == "Buffer(X: float32 64 x 64, input)"
    assert "Buffer(W.packed: float32 64 x 8 x 8, constant, packed W)" in shown


def test_bound_kernels_print_in_a_line() -> None:
    kernel = build(pointwise(), threads=2)
    arrays = [np.zeros([int(n) for n in b.shape], b.dtype) for b in kernel.inputs]
    assert repr(kernel.bind(*arrays)) == "Bound(-> float32 12; threads=2)"
