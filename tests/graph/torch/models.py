"""Small models of PyTorch's, compiled beside PyTorch itself."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from tilewright.graph.torch import Report, backend


class Compiled:
    """A model in tilewright's hands, and what became of it."""

    def __init__(self, model: Any, **options: Any) -> None:
        torch.compiler.reset()
        self.model = model.eval() if isinstance(model, nn.Module) else model
        self.reports: list[Report] = []
        asked = {"threads": 1, "watch": self.reports.append, **options}
        self.run = torch.compile(self.model, backend=backend, options=asked)

    @property
    def kernels(self) -> int:
        return sum(report.kernels for report in self.reports)

    @property
    def left(self) -> set[str]:
        """The operators that PyTorch runs."""
        return {operator for report in self.reports for operator, _ in report.left}

    def check(self, *inputs: Any, tolerance: float = 2e-5) -> None:
        """Assert that the compiled model gives what the model does."""
        with torch.inference_mode():
            made, wanted = self.run(*inputs), self.model(*inputs)
        same(made, wanted, tolerance)


def same(made: Any, wanted: Any, tolerance: float = 2e-5) -> None:
    """Assert that two nests of tensors hold the same, but for errors of rounding."""
    made, wanted = pytree.tree_leaves(made), pytree.tree_leaves(wanted)
    assert len(made) == len(wanted)
    for a, b in zip(made, wanted, strict=True):
        assert a.dtype == b.dtype
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


class Residual(nn.Module):
    """Two convolutions of ResNet's around which the input is carried."""

    def __init__(self, ci: int, co: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(ci, co, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(co)
        self.conv2 = nn.Conv2d(co, co, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(co)
        self.relu = nn.ReLU(inplace=True)
        self.way = nn.Sequential(nn.Conv2d(ci, co, 1, stride, bias=False), nn.BatchNorm2d(co))

    def forward(self, x: Any) -> Any:
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + self.way(x))


class Mobile(nn.Module):
    """MobileNet's inverted bottleneck, with the gate over channels of its third version."""

    def __init__(self, c: int, wide: int) -> None:
        super().__init__()
        self.widen = nn.Sequential(nn.Conv2d(c, wide, 1), nn.BatchNorm2d(wide), nn.Hardswish())
        self.depth = nn.Sequential(
            nn.Conv2d(wide, wide, 3, 1, 1, groups=wide), nn.BatchNorm2d(wide), nn.ReLU6()
        )
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, wide, 1), nn.Hardsigmoid()
        )
        self.narrow = nn.Conv2d(wide, c, 1)

    def forward(self, x: Any) -> Any:
        y = self.depth(self.widen(x))
        return x + self.narrow(y * self.gate(y))


def generator() -> nn.Module:
    """Return the generator of a small DCGAN."""
    return nn.Sequential(
        nn.ConvTranspose2d(6, 8, 4, 1, 0, bias=False), nn.BatchNorm2d(8), nn.ReLU(True),
        nn.ConvTranspose2d(8, 4, 4, 2, 1, bias=False), nn.BatchNorm2d(4), nn.LeakyReLU(0.2),
        nn.ConvTranspose2d(4, 3, 3, 2, 1, output_padding=1), nn.Tanh(),
    )  # fmt: skip
