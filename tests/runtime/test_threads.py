"""A process that forks after parallel loops ran: both sides run them still."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tilewright.errors import ArgumentError
from tilewright.measure.local import Local

PROGRAM = """
import os, sys, threading
import numpy as np, tilewright as tw
a = tw.tensor("A", (4096,))
s = tw.Schedule(tw.compute("B", (4096,), lambda i: a[i] * 2.0)).split("i", (64, 64))
kernel = tw.build(s.parallel("i.0"), threads=4)
x = np.ones(4096, np.float32)

def right():
    return bool((kernel(x) == 2).all())

def forked(depth):
    assert right()
    child = os.fork()
    if child == 0:
        ok = right() and (depth == 0 or forked(depth - 1))
        os._exit(0 if ok else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and right()

fine = [forked(1)]  # a child, and a child of it
thread = threading.Thread(target=lambda: fine.append(forked(0)))
thread.start()
thread.join()
sys.exit(0 if fine == [True, True] else 1)
"""


def test_a_forked_child_runs_parallel_loops() -> None:
    """Run in a process of its own: the child of one that ran parallel loops would wait forever."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("threads", [0, -1, True, 2.0, "2", 1025])
def test_a_measurer_refuses_wrong_numbers_of_threads(threads: int) -> None:
    with pytest.raises(ArgumentError, match="a whole number from 1 to 1024"):
        Local(threads=threads)
    with pytest.raises(ArgumentError, match="a whole number from 1 to 1024"):
        Local(builders=threads)
