"""The work that subjects share: its arrays, its size, and its right answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tilewright.graph.operators.conv2d import Conv2d


@dataclass(frozen=True)
class Subject:
    """Prepared work: call it to run it once; `result` returns what the last run computed.

    `holds` is what the library reads without keeping it alive.
    """

    name: str
    run: Callable[[], object]
    result: Callable[[], np.ndarray]
    holds: object = None

    def __call__(self) -> None:
        self.run()


@dataclass(frozen=True)
class Convolution:
    """A square convolution of a square image: one layer of the paper's Table 1."""

    name: str
    size: int
    ci: int
    co: int
    kernel: int
    stride: int
    n: int = 1
    pad: int | None = None

    @property
    def padding(self) -> int:
        """Half of the kernel unless `pad` says otherwise: the output is as large as the input."""
        return self.kernel // 2 if self.pad is None else self.pad

    @property
    def made(self) -> int:
        """Rows and columns of the output."""
        return (self.size + 2 * self.padding - self.kernel) // self.stride + 1

    @property
    def flops(self) -> int:
        """Two for each multiplication, those by padding included."""
        return 2 * self.n * self.made**2 * self.co * self.ci * self.kernel**2

    @cached_property
    def data(self) -> np.ndarray:
        """The image, (n, size, size, ci)."""
        shape = (self.n, self.size, self.size, self.ci)
        return np.random.default_rng(0).standard_normal(shape, np.float32)

    @cached_property
    def weights(self) -> np.ndarray:
        """(kernel, kernel, ci, co), scaled so that the output is about one."""
        shape = (self.kernel, self.kernel, self.ci, self.co)
        scale = np.float32((self.ci * self.kernel**2) ** -0.5)
        return np.random.default_rng(1).standard_normal(shape, np.float32) * scale

    @cached_property
    def answer(self) -> np.ndarray:
        """The output, (n, made, made, co), computed in float64."""
        attributes = {
            "strides": (self.stride, self.stride),
            "pads": (self.padding,) * 4,
            "dilations": (1, 1),
            "groups": 1,
            "bias": 0,
            "residual": 0,
            "relu": 0,
        }
        operands = [self.data.astype(np.float64), self.weights.astype(np.float64)]
        return Conv2d().compute(operands, attributes)


@dataclass(frozen=True)
class Matmul:
    """C = A @ B, with B constant."""

    name: str
    m: int
    n: int
    k: int

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k

    @cached_property
    def a(self) -> np.ndarray:
        return np.random.default_rng(0).standard_normal((self.m, self.k), np.float32)

    @cached_property
    def b(self) -> np.ndarray:
        scale = np.float32(self.k**-0.5)
        return np.random.default_rng(1).standard_normal((self.k, self.n), np.float32) * scale

    @cached_property
    def answer(self) -> np.ndarray:
        return self.a.astype(np.float64) @ self.b.astype(np.float64)


# The distinct convolutions of ResNet-18, named as in the paper's Table 1.
RESNET18 = (
    Convolution("C1", 224, 3, 64, 7, 2),
    Convolution("C2", 56, 64, 64, 3, 1),
    Convolution("C3", 56, 64, 64, 1, 1),
    Convolution("C4", 56, 64, 128, 3, 2),
    Convolution("C5", 56, 64, 128, 1, 2),
    Convolution("C6", 28, 128, 128, 3, 1),
    Convolution("C7", 28, 128, 256, 3, 2),
    Convolution("C8", 28, 128, 256, 1, 2),
    Convolution("C9", 14, 256, 256, 3, 1),
    Convolution("C10", 14, 256, 512, 3, 2),
    Convolution("C11", 14, 256, 512, 1, 2),
    Convolution("C12", 7, 512, 512, 3, 1),
)
MATMUL_1024 = Matmul("matmul1024", 1024, 1024, 1024)


def error(subject: Subject, answer: np.ndarray) -> float:
    """Run once and return the largest difference from `answer`, over its root mean square."""
    subject()
    difference = np.abs(subject.result().astype(np.float64) - answer).max()
    return float(difference / np.sqrt(np.mean(np.square(answer, dtype=np.float64))))
