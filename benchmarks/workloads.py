"""The work of the paper's Table 1, MobileNet's layers and a matrix product, as tuning tasks."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers.work import (
    DEPTHWISE,
    MATMUL_1024,
    RESNET18,
    SEPARABLE,
    Chain,
    Convolution,
    Matmul,
    Work,
)  # fmt: skip
from tilewright.ops.conv2d import TOLERANCE, Conv2d
from tilewright.ops.dense import Dense
from tilewright.ops.depthwise import Depthwise, DepthwisePointwise
from tilewright.target import Target
from tilewright.tuning.task import Operator, Task

WORK: dict[str, Work] = {work.name: work for work in (*RESNET18, MATMUL_1024)}
MOBILENET: dict[str, Work] = {work.name: work for work in (*DEPTHWISE, *SEPARABLE)}


def task_of(work: Work, *, tolerance: float = TOLERANCE, target: Target | None = None) -> Task:
    """Return the tuning task that does a benchmark's work; `tolerance` is that of convolutions."""
    operator = _operator(work, tolerance)
    return Task(operator, target) if target else Task(operator)


def _operator(work: Work, tolerance: float) -> Operator:
    match work:
        case Matmul():
            return Dense(work.m, work.k, work.n)
        case Chain(layers=(first, second)) if first.groups == first.ci and second.kernel == 1:
            return DepthwisePointwise(
                first.n, first.size, first.size, first.ci, second.co, (first.kernel,) * 2,
                (first.stride,) * 2, (first.padding,) * 4, bias=first.bias, relu=first.relu,
            )  # fmt: skip
        case Chain():
            raise NotImplementedError(f"no one operator does the layers of {work.name}")
        case Convolution() if work.groups == work.ci == work.co > 1:
            return Depthwise(
                work.n, work.size, work.size, work.ci, (work.kernel,) * 2, (work.stride,) * 2,
                (work.padding,) * 4, bias=work.bias, relu=work.relu,
            )  # fmt: skip
        case Convolution():
            return Conv2d(
                work.n, work.size, work.size, work.ci, work.co, (work.kernel,) * 2,
                (work.stride,) * 2, (work.padding,) * 4, groups=work.groups, bias=work.bias,
                relu=work.relu, tolerance=tolerance,
            )  # fmt: skip


def operands(work: Work) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays by the names that tilewright's operators have for them."""
    match work:
        case Matmul():
            return {"X": work.a, "W": work.b}
        case Chain(layers=(first, second)):
            return {
                **operands(first), "D": first.biases, "V": second.weights[0, 0],
                "B": second.biases,
            }  # fmt: skip
        case Convolution() if work.groups == work.ci > 1:
            return {"X": work.data, "W": work.weights[:, :, 0], "B": work.biases}
        case Convolution():
            return {"X": work.data, "W": work.weights, "B": work.biases}
        case Chain():
            raise NotImplementedError(f"no one operator does the layers of {work.name}")
