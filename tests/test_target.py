"""Machines that cannot be are refused in words: LLVM would end the process."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest
from tests.schedule.programs import pointwise

from tilewright import Schedule, Target, host
from tilewright.errors import TargetError
from tilewright.runtime.artifact import compile_nest

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
