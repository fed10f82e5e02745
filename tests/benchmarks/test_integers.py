"""The subjects of the integer benchmark compute the same, ours among them."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.integer import task_of
from benchmarks.peers import integers
from benchmarks.peers.integers import IntegerConvolution
from benchmarks.peers.work import Convolution, Subject

import tilewright as tw

pytestmark = pytest.mark.filterwarnings("ignore")  # the peers' own, which are not ours to mend

WORK = [
    IntegerConvolution(Convolution("strided", 14, 8, 16, 3, 2)),
    IntegerConvolution(Convolution("same", 7, 16, 16, 3, 1)),
]


def off(subject: Subject, answer: np.ndarray) -> int:
    subject()
    return int(np.abs(subject.result().astype(np.int64) - answer).max())


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.of.name)
def test_onnxruntime(work: IntegerConvolution) -> None:
    pytest.importorskip("onnxruntime")
    rounded, sums = integers.onnxruntime(work, 1)
    exact = rounded if tw.host().has("avx512vnni") else rounded[:1]  # its sums saturate elsewhere
    for subject in exact:
        assert off(subject, work.answer) <= 1, subject.name
    assert [off(subject, work.sums) for subject in sums] == [0]


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.of.name)
def test_openvino(work: IntegerConvolution) -> None:
    pytest.importorskip("openvino")
    if not tw.host().has("avx512vnni"):
        pytest.skip("OpenVINO may take other types on this machine")
    for subject in integers.openvino(work, 1):
        assert off(subject, work.answer) <= 1, subject.name
    chain = integers.openvino_chain(work, 1)
    assert (chain is None) == (work.of.name == "strided")


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.of.name)
def test_litert(work: IntegerConvolution) -> None:
    pytest.importorskip("ai_edge_litert")
    assert off(integers.litert(work, 1), work.answer) <= 1


def test_those_installed_take_part_and_are_described() -> None:
    found, absent = integers.libraries()
    assert len(found) + len(absent) == len(integers.SETTINGS)
    rounded, _ = integers.subjects(WORK[0], 1)
    assert bool(rounded) == bool(found)


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.of.name)
def test_tilewright(work: IntegerConvolution) -> None:
    arrays = {"X": work.data, "W": work.weights, "S": work.scale}
    for kind, answer in ("rounded", work.answer), ("sums", work.sums):
        kernel = tw.build(task_of(work, kind).fallback(), threads=1)
        made = kernel(**{b.name: arrays[b.name] for b in kernel.inputs})
        assert np.array_equal(made, answer)
