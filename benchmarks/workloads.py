"""The work of the paper's Table 1, and a matrix product."""

from __future__ import annotations

from benchmarks.peers.work import Convolution, Matmul
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.tuning.task import Task

_TABLE = {
    "C1": (224, 3, 64, 7, 2),
    "C2": (56, 64, 64, 3, 1),
    "C3": (56, 64, 64, 1, 1),
    "C4": (56, 64, 128, 3, 2),
    "C5": (56, 64, 128, 1, 2),
    "C6": (28, 128, 128, 3, 1),
    "C7": (28, 128, 256, 3, 2),
    "C8": (28, 128, 256, 1, 2),
    "C9": (14, 256, 256, 3, 1),
    "C10": (14, 256, 512, 3, 2),
    "C11": (14, 256, 512, 1, 2),
    "C12": (7, 512, 512, 3, 1),
}

CONVOLUTIONS = {name: Convolution(name, *row) for name, row in _TABLE.items()}
MATMULS = {"matmul1024": Matmul("matmul1024", 1024, 1024, 1024)}
WORK: dict[str, Convolution | Matmul] = {**CONVOLUTIONS, **MATMULS}


def task_of(work: Convolution | Matmul) -> Task:
    """Return the tuning task that does a benchmark's work."""
    if isinstance(work, Matmul):
        return Task(Dense(work.m, work.k, work.n))
    return Task(
        Conv2d(
            work.n, work.size, work.size, work.ci, work.co, (work.kernel,) * 2, (work.stride,) * 2,
            (work.padding,) * 4,
        )
    )  # fmt: skip
