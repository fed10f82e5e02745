"""The work that subjects share: its arrays, its size, and its right answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tilewright.graph.ir import Type
from tilewright.graph.operators.conv import Conv


@dataclass(frozen=True)
class Subject:
    """Prepared work: call it to run it once; `result` returns what the last run computed.

    `holds` is what the library reads without keeping it alive; `others` returns what a network
    computed besides its first output.
    """

    name: str
    run: Callable[[], object]
    result: Callable[[], np.ndarray]
    holds: object = None
    others: Callable[[], Sequence[np.ndarray]] = tuple

    def __call__(self) -> None:
        self.run()

    def channels_last(self) -> Subject:
        """Return the same, whose result is (n, c, h, w), with one that is (n, h, w, c)."""
        return replace(self, result=lambda: self.result().transpose(0, 2, 3, 1))


@dataclass(frozen=True)
class Convolution:
    """A square convolution of a square image, with bias and ReLU if asked.

    Its weights have `ci / groups` channels; with `groups` of `ci` it is depthwise.
    """

    name: str
    size: int
    ci: int
    co: int
    kernel: int
    stride: int
    n: int = 1
    pad: int | None = None
    groups: int = 1
    bias: bool = False
    relu: bool = False

    @property
    def layers(self) -> tuple[Convolution, ...]:
        """Itself alone; see `Chain`."""
        return (self,)

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
        return 2 * self.n * self.made**2 * self.co * self.ci // self.groups * self.kernel**2

    @cached_property
    def data(self) -> np.ndarray:
        """The image, (n, size, size, ci)."""
        shape = (self.n, self.size, self.size, self.ci)
        return np.random.default_rng(0).standard_normal(shape, np.float32)

    @cached_property
    def weights(self) -> np.ndarray:
        """(kernel, kernel, ci / groups, co), scaled so that the output is about one."""
        shape = (self.kernel, self.kernel, self.ci // self.groups, self.co)
        scale = np.float32((shape[2] * self.kernel**2) ** -0.5)
        return np.random.default_rng(1).standard_normal(shape, np.float32) * scale

    @cached_property
    def biases(self) -> np.ndarray:
        """What is added to each channel of the output; zeros without `bias`."""
        drawn = np.random.default_rng(2).standard_normal(self.co, np.float32)
        return drawn if self.bias else np.zeros_like(drawn)

    @cached_property
    def answer(self) -> np.ndarray:
        """The output, (n, made, made, co), computed in float64."""
        return self.of(self.data.astype(np.float64))

    def of(self, data: np.ndarray) -> np.ndarray:
        """Return the output for other data, in their precision."""
        attributes = {
            "strides": (self.stride, self.stride),
            "pads": (self.padding,) * 4,
            "dilations": (1, 1),
            "groups": self.groups,
        }
        types = [Type(array.shape) for array in (data, self.weights)]
        sums = Conv().compute([data, self.weights], types, attributes) + self.biases
        return (np.maximum(sums, 0) if self.relu else sums).astype(data.dtype)


@dataclass(frozen=True)
class Chain:
    """Convolutions, each of the output of the one before."""

    name: str
    layers: tuple[Convolution, ...]

    @property
    def flops(self) -> int:
        return sum(layer.flops for layer in self.layers)

    @property
    def data(self) -> np.ndarray:
        return self.layers[0].data

    @cached_property
    def answer(self) -> np.ndarray:
        """The last output, computed in float64."""
        made = self.data.astype(np.float64)
        for layer in self.layers:
            made = layer.of(made)
        return made


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


Work = Convolution | Chain | Matmul

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
# The distinct depthwise convolutions of MobileNet v1 at 224, as its layers have them: with bias
# and ReLU; and each with the pointwise convolution that follows it.
_MOBILENET = (
    (112, 32, 1, 64), (112, 64, 2, 128), (56, 128, 1, 128), (56, 128, 2, 256), (28, 256, 1, 256),
    (28, 256, 2, 512), (14, 512, 1, 512), (14, 512, 2, 1024), (7, 1024, 1, 1024),
)  # fmt: skip
DEPTHWISE = tuple(
    Convolution(f"D{i}", size, c, c, 3, stride, groups=c, bias=True, relu=True)
    for i, (size, c, stride, _) in enumerate(_MOBILENET, 1)
)
SEPARABLE = tuple(
    Chain(
        f"S{i}", (first, Convolution(f"P{i}", first.made, first.co, co, 1, 1, bias=True, relu=True))
    )
    for i, (first, (*_, co)) in enumerate(zip(DEPTHWISE, _MOBILENET, strict=True), 1)
)
MATMUL_1024 = Matmul("matmul1024", 1024, 1024, 1024)


def named(peer: str, variant: str) -> str:
    """Return the name of a variant of a peer; one that is not peculiar has none of its own."""
    return f"{peer} {variant}".strip()


def fitting(array: np.ndarray, dimensions: int) -> np.ndarray:
    """Return a vector as a matrix of one row, where a model wants one."""
    return array[None] if array.ndim < dimensions else array


def error(subject: Subject, *answers: np.ndarray) -> float:
    """Run once and return the largest difference of an output from its answer.

    It is in parts of the root mean square of that answer.
    """
    subject()
    outputs = (subject.result(), *subject.others())
    return max(_error(*pair) for pair in zip(outputs, answers, strict=True))


def _error(got: np.ndarray, answer: np.ndarray) -> float:
    difference = np.abs(got.astype(np.float64).reshape(answer.shape) - answer).max()
    return float(difference / np.sqrt(np.mean(np.square(answer, dtype=np.float64))))
