"""Weights are packed: what is compiled follows them, and says so where that does not pay."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an extra")

from tests.graph.torch.models import Compiled, same  # noqa: E402
from torch import nn  # noqa: E402

from tilewright.graph.torch import backend, captured  # noqa: E402


def test_weights_that_change_are_packed_again() -> None:
    model, x = nn.Linear(4, 3), torch.randn(2, 4)
    compiled = Compiled(model)
    compiled.check(x)
    with torch.no_grad():
        model.weight.mul_(2.0)
    compiled.check(x)
    model.load_state_dict({"weight": torch.ones(3, 4), "bias": torch.zeros(3)})
    compiled.check(x)
    model.weight.data = torch.randn(3, 4)
    compiled.check(x)
    compiled.check(x)
    assert len(compiled.reports) == 4


def test_weights_that_change_all_the_time_are_left_to_pytorch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(captured, "MAX_CHANGES", 1)
    model, x = nn.Linear(4, 3), torch.randn(2, 4)
    compiled = Compiled(model)
    compiled.check(x)
    for _ in range(2):
        with torch.no_grad():
            model.weight.add_(1.0)
        if len(compiled.reports) < 2:
            compiled.check(x)
    with pytest.warns(UserWarning, match=r"changed 2 times .* torch.compiler.reset"):
        compiled.check(x)
    with torch.no_grad():
        model.weight.add_(1.0)
    compiled.check(x)
    assert len(compiled.reports) == 2


def test_models_that_share_a_graph_have_their_own_weights() -> None:
    torch.compiler.reset()
    reports: list[Any] = []
    x, options = torch.randn(2, 4), {"watch": reports.append, "threads": 1}
    layers = [nn.Linear(4, 4).eval() for _ in range(3)]
    runs = [torch.compile(layer, backend=backend, options=options) for layer in layers]
    with torch.no_grad():
        for _ in range(2):
            for run, layer in zip(runs, layers, strict=True):
                same(run(x), layer(x))
    assert len(reports) == 3


def test_buffers_that_the_model_writes_are_inputs() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.register_buffer("seen", torch.zeros(4))

        def forward(self, x: Any) -> Any:
            self.seen += x.sum(0)
            return self.layer(x) + self.seen

    torch.manual_seed(0)
    model = Counting()
    compiled, x = Compiled(model), torch.randn(2, 4)
    with torch.no_grad():
        for i in range(1, 5):
            made = compiled.run(x)
            same(model.seen, x.sum(0) * i)
            same(made, model.layer(x) + model.seen)
    assert len(compiled.reports) == 2
    assert compiled.kernels > 0


def test_shapes_are_compiled_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captured, "MAX_SHAPES", 3)
    compiled = Compiled(nn.Sequential(nn.Linear(4, 3), nn.ReLU()))
    for batch in 1, 2, 3, 4, 3:
        compiled.check(torch.randn(batch, 4))
    assert len(compiled.reports) == 4  # dynamo keeps one graph for a batch of 1
    with pytest.warns(UserWarning, match="compiled for 3 shapes"):
        compiled.check(torch.randn(5, 4))
    assert len(compiled.reports) == 4
