"""The model builders: what they write is whole, of the published size, and reproducible."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from benchmarks.models import dcgan, dqn, lstm, mobilenet_v1
from benchmarks.models.net import command
from benchmarks.networks import answers, inputs

State = dict[str, list[int]]


def state(batch: int, units: int, suffix: str = "") -> State:
    return {f"{name}{layer}{suffix}": [1, batch, units] for layer in (1, 2) for name in "hc"}


# Of each the weights that are learned, as published, and the shapes of inputs and outputs.
WHOLE: dict[str, tuple[Callable[[], onnx.ModelProto], int, State, State]] = {
    "mobilenet_v1": (
        mobilenet_v1.build, 4_231_976, {"input": [1, 3, 224, 224]}, {"output": [1, 1000]},
    ),
    "dqn": (dqn.build, 1_693_362, {"input": [1, 4, 84, 84]}, {"output": [1, 18]}),
    "dcgan": (dcgan.build, 3_576_704, {"input": [1, 100, 1, 1]}, {"output": [1, 3, 64, 64]}),
    "lstm": (
        lambda: lstm.build(20), 10_000 * 650 + 2 * (8 * 650 * 650 + 8 * 650) + 651 * 10_000,
        {"words": [20, 1], **state(1, 650)}, {"logits": [20, 1, 10_000], **state(1, 650, ".new")},
    ),
}  # fmt: skip

SMALL: dict[str, Callable[..., onnx.ModelProto]] = {
    "mobilenet_v1": lambda **more: mobilenet_v1.build(32, 4, classes=5, **more),
    "dqn": lambda **more: dqn.build(44, 4, 16, **more),
    "dcgan": lambda **more: dcgan.build(2, noise=5, doublings=2, **more),
    "lstm": lambda **more: lstm.build(3, 8, 20, **more),
    "cells": lambda **more: lstm.build(3, 8, 20, cells=True, **more),
}


def shapes(values: Any) -> State:
    return {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}


@pytest.mark.parametrize("name", WHOLE)
def test_the_published_size(name: str) -> None:
    build, learned, given, made = WHOLE[name]
    model = build()
    weights = [t for t in model.graph.initializer if "running" not in t.name and t.data_type == 1]
    assert sum(int(np.prod(t.dims)) for t in weights if t.dims) == learned
    assert shapes(model.graph.input) == given
    assert shapes(model.graph.output) == made


@pytest.mark.parametrize("name", ["mobilenet_v1", "dqn", "dcgan"])
def test_shapes_are_those_that_onnx_infers(name: str) -> None:
    onnx.checker.check_model(WHOLE[name][0](), full_check=True)


@pytest.mark.parametrize("name", SMALL)
def test_a_batch_is_its_parts(name: str) -> None:
    """A batch computes what its halves do; the shapes that are stated are those computed."""
    model, single = SMALL[name](batch=2), SMALL[name](batch=1)
    onnx.checker.check_model(model, full_check=True)
    given, axis = inputs(model), 1 if "words" in inputs(model) else 0
    both = answers(model, given)
    assert [list(y.shape) for y in both] == list(shapes(model.graph.output).values())
    for i in range(2):
        half = {key: array.take([i], axis) for key, array in given.items()}
        for whole, part in zip(both, answers(single, half), strict=True):
            assert part.std() > 1e-3
            np.testing.assert_allclose(whole.take([i], axis), part, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", SMALL)
def test_the_same_seed_writes_the_same_bytes(name: str) -> None:
    first, again, other = (SMALL[name](seed=s).SerializeToString() for s in (0, 0, 1))
    assert first == again
    assert first != other


def test_cells_compute_what_the_operator_does() -> None:
    operator, cells = SMALL["lstm"](), SMALL["cells"]()
    assert {node.op_type for node in cells.graph.node}.isdisjoint({"LSTM", "Loop", "Scan"})
    given = inputs(operator)
    results = (answers(model, given) for model in (operator, cells))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_sane_activations() -> None:
    """No layer of the deepest net dies, or is held at six throughout."""
    model = mobilenet_v1.build(64)
    names = [node.output[0] for node in model.graph.node if node.op_type == "Clip"]
    model.graph.output.extend([onnx.ValueInfoProto(name=name) for name in names])
    _, *layers = answers(model, inputs(model))
    for values in layers:
        assert 0.1 < np.mean((values > 0) & (values < 6)) < 0.95


def test_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.onnx"
    command("lstm", lstm.build, [str(path), "steps=2", "units=8", "vocabulary=20", "batch=3"])
    assert shapes(onnx.load(path).graph.input)["words"] == [2, 3]
    assert capsys.readouterr().out.startswith(f"wrote {path}, ")
    wrong = [], ["-h"], [str(path), "step=2"], [str(path), "steps=two"], [str(path), "steps"]
    for arguments in wrong:
        with pytest.raises(SystemExit, match=r"usage: .*lstm PATH .*options steps, units, vocab"):
            command("lstm", lstm.build, arguments)
    monkeypatch.setattr("sys.argv", ["lstm"])
    with pytest.raises(SystemExit, match="usage"):
        command("lstm", lstm.build)
