"""Random networks with random schedules, as the fuzzer makes them: a few of each kind of node."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_random_networks_with_random_schedules_are_right() -> None:
    """In a process of its own, which a kernel that reads beside its inputs would end."""
    command = [sys.executable, "-m", "tests.fuzz_networks", "--count", "2", "--seed", "11"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-2000:]}"
