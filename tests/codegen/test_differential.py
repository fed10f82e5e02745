"""Compiled kernels compute what NumPy does: run in processes of their own, where they may crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tilewright import host

ROOT = Path(__file__).parents[2]
EACH = 60


def run(mode: str, first: int, *target: str) -> None:
    command = [sys.executable, "-m", "tests.differential", mode, str(first), str(first + EACH)]
    done = subprocess.run(
        [*command, *target], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-2000:]}"


@pytest.mark.parametrize("mode", ["steps", "tiled"])
@pytest.mark.parametrize("first", [0, EACH])
def test_random_schedules_compile_to_what_numpy_computes(mode: str, first: int) -> None:
    run(mode, first)


def test_random_operators_compile_to_what_numpy_computes() -> None:
    run("operators", 0)


def test_random_elements_compile_to_what_numpy_computes() -> None:
    run("elements", 0)


@pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="targets of x86-64")
@pytest.mark.parametrize("mode", ["tiled", "operators", "elements"])
@pytest.mark.parametrize("target", ["x86-64", "x86-64-v2", "x86-64-v3"])
def test_narrower_targets_compute_the_same(target: str, mode: str) -> None:
    if host().vector_bytes < 32 and target == "x86-64-v3":
        pytest.skip("this machine has no AVX2")
    run(mode, 1000, target)
