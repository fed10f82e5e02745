"""A model of each library, where it is installed."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an extra")

from benchmarks import torch_models  # noqa: E402


@pytest.mark.parametrize(
    ("library", "name"),
    [("transformers", "bert"), ("torchvision", "squeezenet1_1"), ("timm", "resnet10t")],
)
def test_model_of_a_library(library: str, name: str) -> None:
    pytest.importorskip(library)
    torch.manual_seed(0)
    error, (report,) = torch_models.compared(torch_models.LIBRARIES[library][0](name))
    assert error < 1e-4
    assert report.kernels > 0
    assert not report.left
