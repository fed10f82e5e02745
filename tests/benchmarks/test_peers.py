"""Every peer that is installed computes the right thing, in float32."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from benchmarks.models import resnet18
from benchmarks.peers import available
from benchmarks.peers.work import RESNET18, Convolution, Matmul, error
from tests.graph.models import by_onnxruntime, floats, save

PEERS = available()[0]
TOLERANCE = 2e-5  # of the root mean square; bfloat16 would be off by 1e-2

pytestmark = pytest.mark.filterwarnings("ignore")  # the peers' own, which are not ours to mend


def options(peer: ModuleType) -> dict[str, Any]:
    return {"compiled": False} if peer.__name__.endswith("torch_") else {}


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.NAME)
@pytest.mark.parametrize(
    "work",
    [Convolution("strided", 14, 8, 16, 3, 2), Convolution("1x1", 7, 5, 6, 1, 1, n=2)],
    ids=lambda work: work.name,
)
def test_convolution(peer: ModuleType, work: Convolution) -> None:
    for subject in peer.convolution(work, 1, **options(peer)):
        assert error(subject, work.answer) < TOLERANCE, subject.name
        assert subject.name.startswith(peer.NAME)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.NAME)
def test_matmul(peer: ModuleType) -> None:
    work = Matmul("small", 24, 40, 17)
    for subject in peer.matmul(work, 1, **options(peer)):
        assert error(subject, work.answer) < TOLERANCE, subject.name


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.NAME)
def test_network(peer: ModuleType, tmp_path: Path) -> None:
    path = save(resnet18.build(32, 8, classes=20), tmp_path / "m.onnx")
    x = floats(np.random.default_rng(0), 1, 3, 32, 32)
    (answer,) = by_onnxruntime(path, {"input": x})
    for subject in peer.network(path, 1, x, **options(peer)):
        assert error(subject, answer) < TOLERANCE, subject.name


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.NAME)
def test_versions(peer: ModuleType) -> None:
    assert peer.versions()[-1].isalnum()


def test_absent_peers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "benchmarks.peers.openvino_", None)
    found, absent = available()
    assert all(peer.NAME != "openvino" for peer in found)
    assert any(line.startswith("openvino is skipped: ") for line in absent)


def test_work_of_the_paper() -> None:
    assert [work.flops for work in RESNET18[:2]] == [236_027_904, 231_211_008]
    assert [work.made for work in RESNET18] == [112, 56, 56, 28, 28, 28, 14, 14, 14, 7, 7, 7]
