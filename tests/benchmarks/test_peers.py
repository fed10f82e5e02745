"""Every peer that is installed computes the right thing, in float32."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest
from benchmarks.models import dcgan, dqn, lstm, mobilenet_v1, resnet18
from benchmarks.networks import answers, inputs
from benchmarks.peers import available
from benchmarks.peers.rows import Rows, gelu, layer_norm, matvec, softmax
from benchmarks.peers.work import (
    DEPTHWISE,
    RESNET18,
    SEPARABLE,
    Chain,
    Convolution,
    Matmul,
    Subject,
    error,
)  # fmt: skip
from onnx import helper
from tests.graph.models import save, write

PEERS = available()[0]
DEPTH = Convolution("depthwise", 8, 6, 6, 3, 2, groups=6, bias=True, relu=True)
CONVOLUTIONS = [
    Convolution("strided", 14, 8, 16, 3, 2),
    Convolution("1x1", 7, 5, 6, 1, 1, n=2, bias=True),
    DEPTH,
    Chain("chain", (DEPTH, Convolution("point", 4, 6, 10, 1, 1, bias=True, relu=True))),
]
TOLERANCE = 2e-5  # of the root mean square; bfloat16 would be off by 1e-2

pytestmark = pytest.mark.filterwarnings("ignore")  # the peers' own, which are not ours to mend


def options(peer: ModuleType) -> dict[str, Any]:
    return {"compiled": False} if peer.__name__.endswith("torch_") else {}


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.NAME)
@pytest.mark.parametrize("work", CONVOLUTIONS, ids=lambda work: work.name)
def test_convolution(peer: ModuleType, work: Convolution | Chain) -> None:
    names: list[str] = []
    for subject in peer.convolution(work, 1, layouts=True, **options(peer)):
        assert error(subject, work.answer) < TOLERANCE, subject.name
        assert subject.name.startswith(peer.NAME)
        names.append(subject.name)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.NAME)
@pytest.mark.parametrize(
    "work",
    [
        softmax(3, 10), layer_norm(3, 24), Rows("gelu", gelu(50), "Gelu", {}, ("X",)),
        matvec(24, 10),
    ],
    ids=lambda work: work.name,
)  # fmt: skip
def test_rows(peer: ModuleType, work: Rows) -> None:
    subjects = peer.rows(work, 1, **options(peer))
    assert subjects
    for subject in subjects:
        assert error(subject, work.answer) < TOLERANCE, subject.name
        assert subject.name.startswith(peer.NAME)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.NAME)
def test_matmul(peer: ModuleType) -> None:
    work = Matmul("small", 24, 40, 17)
    for subject in peer.matmul(work, 1, **options(peer)):
        assert error(subject, work.answer) < TOLERANCE, subject.name


SMALL: dict[str, Callable[[], onnx.ModelProto]] = {
    "resnet18": lambda: resnet18.build(32, 8, classes=20),
    "mobilenet_v1": lambda: mobilenet_v1.build(32, 8, classes=20, batch=2),
    "dqn": lambda: dqn.build(44, 4, 16),
    "dcgan": lambda: dcgan.build(2, noise=5, doublings=2, batch=2),
    "lstm": lambda: lstm.build(3, 8, 20, batch=2),
    "lstm of one step": lambda: lstm.build(1, 8, 20),
    "lstm of cells": lambda: lstm.build(3, 8, 20, batch=2, cells=True),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.NAME)
def test_network(peer: ModuleType, name: str, tmp_path: Path) -> None:
    """All outputs of all networks are those of ONNX's own evaluation, in every variant."""
    model = SMALL[name]()
    path = save(model, tmp_path / "m.onnx")
    given = inputs(model)
    right = answers(model, given)
    subjects = peer.network(path, 1, *given.values(), **options(peer))
    assert subjects
    for subject in subjects:
        assert error(subject, *right) < TOLERANCE, subject.name
        assert subject.name.startswith(peer.NAME)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.NAME)
def test_a_network_that_is_not_given_to_a_peer(peer: ModuleType, tmp_path: Path) -> None:
    if not peer.__name__.endswith(("torch_", "litert_")):
        pytest.skip("it reads ONNX itself")
    path = write(tmp_path / "m.onnx", [helper.make_node("Det", ["x"], ["y"])], {"x": (2, 2)}, {})
    with pytest.raises(NotImplementedError, match="is not given Det"):
        peer.network(path, 1, np.eye(2, dtype=np.float32), **options(peer))


def test_errors_are_of_all_outputs() -> None:
    one, two = np.ones(3), np.full(3, 2.0)
    subject = Subject("s", lambda: None, lambda: one, others=lambda: [one])
    assert error(subject, one, one) == 0
    assert error(subject, one, two) == 0.5
    with pytest.raises(ValueError, match="longer"):
        error(subject, one, one, one)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.NAME)
def test_versions(peer: ModuleType) -> None:
    assert peer.versions()[-1].isalnum()
    assert peer.SETTINGS


def test_absent_peers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "benchmarks.peers.openvino_", None)
    found, absent = available()
    assert all(peer.NAME != "openvino" for peer in found)
    assert any(line.startswith("openvino is skipped: ") for line in absent)


def test_work_of_the_paper() -> None:
    assert [work.flops for work in RESNET18[:2]] == [236_027_904, 231_211_008]
    assert [work.made for work in RESNET18] == [112, 56, 56, 28, 28, 28, 14, 14, 14, 7, 7, 7]


def test_work_of_mobilenet() -> None:
    """The layers that the network has at 224, as it is published, each once."""
    assert [layer.ci for layer in DEPTHWISE] == [32, 64, 128, 128, 256, 256, 512, 512, 1024]
    assert all(layer.flops == 18 * layer.made**2 * layer.ci for layer in DEPTHWISE)
    assert [chain.layers[1].co for chain in SEPARABLE] == [
        64,
        128,
        128,
        256,
        256,
        512,
        512,
        1024,
        1024,
    ]
    for chain in SEPARABLE:
        first, second = chain.layers
        assert (first.made, first.co) == (second.size, second.ci)
    repeats = [1, 1, 1, 1, 1, 1, 5, 1, 1]
    total = sum(n * chain.flops for n, chain in zip(repeats, SEPARABLE, strict=True))
    first, classifier = 2 * 112**2 * 32 * 27, 2 * 1024 * 1000
    assert round((total + first + classifier) / 2e6) == 569  # the paper's millions of products
