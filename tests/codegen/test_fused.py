"""Multiply-adds are one instruction where the target has one, two where not; never a call."""

from __future__ import annotations

import re

import pytest

from tilewright import Target, Task
from tilewright.codegen.llvm.compile import assembly
from tilewright.ops.matmul import Matmul
from tilewright.runtime.artifact import compile_nest


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("level", "wanted"),
    [("x86-64", "mulp"), ("x86-64-v2", "mulp"), ("x86-64-v3", "vfmadd"), ("aarch64", "fmla")],
)
def test_sums_of_products_call_nothing(level: str, wanted: str, dtype: str) -> None:
    task = Task(Matmul(24, 24, 32, dtype=dtype), Target(level))
    text = assembly(compile_nest(task.fallback().loops, task.target).llvm, task.target)
    assert wanted in text
    assert not re.search(r"\bfmaf?\b(@PLT)?$", text, re.MULTILINE)
