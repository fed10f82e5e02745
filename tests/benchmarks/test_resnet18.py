"""The model file: reproducible, whole, and sane in what it computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from benchmarks.models import resnet18
from tests.graph.models import by_onnxruntime, floats, save

from tilewright.graph.interpret import interpret
from tilewright.graph.onnx import load


def test_the_same_seed_writes_the_same_bytes() -> None:
    first, again, other = (resnet18.build(32, 8, seed=s).SerializeToString() for s in (0, 0, 1))
    assert first == again
    assert first != other


def test_the_whole_net_has_torchvisions_size_and_sane_activations(tmp_path: Path) -> None:
    model = resnet18.build()
    onnx.checker.check_model(model, full_check=True)
    learned = sum(int(np.prod(t.dims)) for t in model.graph.initializer if "running" not in t.name)
    assert learned == 11_689_512  # torchvision's ResNet-18
    path = save(model, tmp_path / "m.onnx")
    graph = load(path)
    x = floats(np.random.default_rng(0), 1, 3, 224, 224)
    (y,) = interpret(graph, [x])
    assert 0.1 < y.std() < 10
    np.testing.assert_allclose(y, by_onnxruntime(path, {"input": x})[0], rtol=1e-4, atol=5e-5)
