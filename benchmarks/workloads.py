"""The work of the paper's Table 1, and a matrix product."""

from __future__ import annotations

from benchmarks.peers.work import MATMUL_1024, RESNET18, Convolution, Matmul
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.tuning.task import Task

CONVOLUTIONS = {work.name: work for work in RESNET18}
MATMULS = {MATMUL_1024.name: MATMUL_1024}
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
