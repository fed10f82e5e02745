"""Whole models compiled through TorchDynamo give what PyTorch gives."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an extra")

from tests.graph.torch import models  # noqa: E402
from tests.graph.torch.models import Compiled  # noqa: E402
from torch import nn  # noqa: E402

from tilewright.graph.torch import backend  # noqa: E402

CASES: dict[str, tuple[Any, tuple[int, ...], int]] = {  # the model, an input, kernels at most
    "resnet": (lambda: models.Residual(4, 6, 2), (2, 4, 9, 9), 5),
    "mobilenet": (lambda: models.Mobile(4, 8), (1, 4, 7, 7), 8),
    "dcgan": (models.generator, (1, 6, 1, 1), 5),
    "perceptron": (lambda: nn.Sequential(nn.Linear(5, 7), nn.GELU(), nn.Linear(7, 3)), (4, 5), 2),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16), (5, 2, 8), 24),
}


@pytest.mark.parametrize("name", CASES)
def test_model(name: str) -> None:
    torch.manual_seed(0)
    make, shape, most = CASES[name]
    compiled = Compiled(make())
    compiled.check(torch.randn(shape))
    assert not compiled.left
    assert 0 < compiled.kernels <= most


def test_decoder_with_masks() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    compiled = Compiled(layer)
    with torch.no_grad():
        x, memory = torch.randn(2, 4, 8), torch.randn(2, 3, 8)
        made = compiled.run(x, memory, tgt_mask=mask)
        models.same(made, layer(x, memory, tgt_mask=mask))
    assert not compiled.left


def test_padded_keys_of_an_encoder_normalised_first() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(
        8, 2, 16, activation="gelu", norm_first=True, batch_first=True
    ).eval()
    mask = torch.tensor([[False, False, True], [False, True, True]])
    compiled = Compiled(layer)
    with torch.no_grad():
        x = torch.randn(2, 3, 8)
        made = compiled.run(x, src_key_padding_mask=mask)
        models.same(made, layer(x, src_key_padding_mask=mask))
    assert compiled.kernels > 0


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent(kind: Any) -> None:
    torch.manual_seed(0)
    compiled = Compiled(kind(3, 4, bidirectional=kind is nn.LSTM))
    with torch._dynamo.config.patch(allow_rnn=True):
        compiled.check(torch.randn(2, 2, 3))
    assert not compiled.left
    assert compiled.kernels > 0


def test_recurrent_as_dynamo_has_it() -> None:
    """By default dynamo leaves what holds recurrent layers to PyTorch, and says so if asked."""
    compiled, x = Compiled(nn.LSTM(3, 4)), torch.randn(3, 2, 3)
    compiled.check(x)
    assert not compiled.reports
    torch.compiler.reset()
    run: Any = torch.compile(nn.LSTM(3, 4), backend=backend, fullgraph=True)
    with torch.inference_mode(), pytest.raises(Exception, match="allow_rnn=True"):
        run(x)


def test_parts_that_are_not_supported_stay_in_pytorch() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(3, 4, 3), nn.Linear(8, 2)

        def forward(self, x: Any) -> Any:
            x = self.first(x).relu().flatten(1)
            return self.second(torch.special.i0(x.cummax(-1).values[:, :8]))

    compiled = Compiled(Net())
    compiled.check(torch.randn(2, 3, 5, 5))
    assert compiled.left >= {"aten.i0", "aten.cummax"}
    (report,) = compiled.reports
    assert len(report.modules) == 2
    assert "left to PyTorch: aten.cummax: not supported" in str(report)


def test_half_precision() -> None:
    torch.manual_seed(0)
    for dtype in torch.bfloat16, torch.float16:
        compiled = Compiled(nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3)).to(dtype))
        compiled.check(torch.randn(4, 5).to(dtype), tolerance=2e-2)
        assert not compiled.left


def test_several_outputs_and_none() -> None:
    def function(x: Any, y: Any) -> Any:
        return {"sum": x + y, "input": x, "parts": [x.mean(0), None], "number": 3}

    with torch.no_grad():
        x, y = torch.randn(3, 4), torch.randn(3, 4)
        made = Compiled(function).run(x, y)
    assert made["input"] is x
    assert made["number"] == 3
    models.same([made["sum"], made["parts"][0]], [x + y, x.mean(0)])


def test_inputs_that_are_written() -> None:
    def function(x: Any, counter: Any) -> Any:
        counter += 1
        x[:, 1] = 0.0
        return (x * 2).relu()

    compiled = Compiled(function)
    x = torch.randn(3, 4)
    kept, counter = x.clone(), torch.zeros(2)
    with torch.no_grad():
        made = compiled.run(x, counter)
    kept[:, 1] = 0.0
    models.same([x, counter, made], [kept, torch.ones(2), (kept * 2).relu()])
    assert compiled.kernels > 0


def test_strided_inputs() -> None:
    compiled = Compiled(lambda x: x.relu() + 1)
    compiled.check(torch.randn(4, 6).t())
    compiled.check(torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last))
    assert not compiled.left


def test_empty_tensors_join_as_nothing() -> None:
    """As the caches of transformers do that are empty at first."""
    compiled = Compiled(lambda x: torch.cat([torch.tensor([]), x * 2]).relu())
    compiled.check(torch.randn(3))
    assert not compiled.left


def test_what_compares_all_pairs_is_left_to_pytorch_where_rows_are_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tilewright.graph.torch import indexing, order

    monkeypatch.setattr(order, "LONG", 8)
    monkeypatch.setattr(indexing, "LONG", 8)
    compiled = Compiled(lambda x, i: (x.sort(0)[0] + 1, (x * 2).scatter(0, i, 1.0), x.cumsum(0)))
    compiled.check(torch.randn(9), torch.arange(9))
    assert compiled.left == {"aten.sort", "aten.scatter"}
