"""A small ResNet as PyTorch's exporters write it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.graph.models import by_onnxruntime, floats

from tilewright.graph.interpret import interpret
from tilewright.graph.onnx import load
from tilewright.graph.passes import optimize
from tilewright.graph.verify import verify

torch = pytest.importorskip("torch")


def net(head: str) -> Any:
    from torch import nn
    from torch.nn import functional

    class Block(nn.Module):
        def __init__(self, ci: int, co: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(ci, co, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(co)
            self.conv2 = nn.Conv2d(co, co, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(co)
            self.relu = nn.ReLU(inplace=True)
            down = nn.Sequential(nn.Conv2d(ci, co, 1, stride, bias=False), nn.BatchNorm2d(co))
            self.way = down if stride > 1 else nn.Identity()

        def forward(self, x: Any) -> Any:
            y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu(y + self.way(x))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(
                nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True)
            )
            self.pool = nn.MaxPool2d(3, 2, 1)
            self.blocks = nn.Sequential(Block(8, 8, 1), Block(8, 16, 2))
            self.average = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(16, 10)
            self.dropout = nn.Dropout()

        def forward(self, x: Any) -> Any:
            x = self.blocks(self.pool(self.stem(x)))
            if head == "flatten":
                x = torch.flatten(self.average(x), 1)
            elif head == "view":
                x = self.average(x)
                x = x.view(x.size(0), -1)
            elif head == "mean":
                x = x.mean((2, 3))
            else:
                x = functional.avg_pool2d(x, x.shape[2:]).squeeze(-1).squeeze(-1)
            return self.fc(self.dropout(x))

    torch.manual_seed(0)
    module = Net()
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm2d) and layer.running_mean is not None:
            assert layer.running_var is not None
            nn.init.uniform_(layer.weight, 0.5, 1.5)
            nn.init.normal_(layer.bias)
            nn.init.normal_(layer.running_mean)
            nn.init.uniform_(layer.running_var, 0.5, 2)
    return module.eval()


def export(module: Any, path: Path, **options: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporters' own deprecations
        torch.onnx.export(module, (torch.zeros(1, 3, 32, 32),), str(path), **options)


def check(module: Any, path: Path, shapes: dict[str, tuple[int, ...]] | None = None) -> None:
    imported = verify(load(path, shapes))
    optimized = verify(optimize(imported))
    x = floats(np.random.default_rng(0), *imported.inputs[0].shape)
    with torch.inference_mode():
        wanted = module(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(
        by_onnxruntime(path, {imported.inputs[0].name: x})[0], wanted, 1e-4, 1e-5
    )
    for graph in imported, optimized:
        np.testing.assert_allclose(interpret(graph, [x])[0], wanted, rtol=1e-4, atol=1e-5)
    kinds = [node.op for node in optimized.nodes]
    assert kinds.count("conv") == 6
    assert "map" not in kinds, f"not all was fused:\n{optimized}"


@pytest.mark.parametrize("head", ["flatten", "view", "mean", "pool"])
@pytest.mark.parametrize("folded", [True, False], ids=["folded", "batch-norm-kept"])
def test_torchscript_exporter(tmp_path: Path, head: str, folded: bool) -> None:
    module = net(head)
    training = torch.onnx.TrainingMode.EVAL if folded else torch.onnx.TrainingMode.PRESERVE
    path = tmp_path / "m.onnx"
    export(module, path, dynamo=False, training=training, do_constant_folding=folded)
    check(module, path)


def test_torchscript_exporter_with_an_open_batch(tmp_path: Path) -> None:
    module = net("view")
    path = tmp_path / "m.onnx"
    export(module, path, dynamo=False, input_names=["x"], dynamic_axes={"x": {0: "batch"}})
    check(module, path, {"x": (2, 3, 32, 32)})


@pytest.mark.parametrize("head", ["flatten", "view", "mean", "pool"])
@pytest.mark.parametrize("optimize_model", [True, False])
def test_dynamo_exporter(tmp_path: Path, head: str, optimize_model: bool) -> None:
    pytest.importorskip("onnxscript")
    module = net(head)
    path = tmp_path / "m.onnx"
    export(module, path, dynamo=True, optimize=optimize_model, verbose=False)
    check(module, path)
