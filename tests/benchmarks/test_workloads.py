"""Tilewright's side of each benchmark computes what its peers are checked against."""

from __future__ import annotations

import pytest
from benchmarks import levels, rows
from benchmarks.peak import level_peak
from benchmarks.peers.rows import Rows, gelu, layer_norm, matvec, softmax
from benchmarks.peers.work import Chain, Convolution, Matmul, Work, error
from benchmarks.side_by_side import own
from benchmarks.workloads import MOBILENET, WORK, operands, task_of

from tilewright.measure.peak import peak
from tilewright.records.store import Records
from tilewright.target import Target, host

TOLERANCE = 1e-4  # of the root mean square
DEPTH = Convolution("depthwise", 8, 16, 16, 3, 2, groups=16, bias=True, relu=True)
SMALL: list[Work] = [
    Convolution("plain", 8, 4, 16, 3, 1),
    Convolution("bias", 8, 4, 16, 3, 2, bias=True, relu=True),
    DEPTH,
    Chain("chain", (DEPTH, Convolution("point", 4, 16, 32, 1, 1, bias=True, relu=True))),
    Matmul("matmul", 8, 16, 24),
]
ROWS = [
    softmax(4, 16), layer_norm(4, 16), matvec(16, 32), Rows("gelu", gelu(64), "Gelu", {}, ("X",)),
]  # fmt: skip


@pytest.mark.parametrize("work", SMALL, ids=lambda work: work.name)
def test_own_subject(work: Work) -> None:
    with Records(":memory:") as records:
        subject = own(task_of(work), operands(work), 1, records)
    assert error(subject, work.answer) < TOLERANCE


@pytest.mark.parametrize("work", ROWS, ids=lambda work: work.name)
def test_own_rows(work: Rows) -> None:
    todo = rows.tasks(work, 1)
    with Records(":memory:") as records:
        subject = own(todo["tilewright"], work.data, 1, records)
        stream = own(todo[rows.STREAM], {"X": work.largest}, 1, records, rows.STREAM)
    assert error(subject, work.answer) < TOLERANCE
    assert stream.result() == pytest.approx(work.largest.sum(dtype="float64"), abs=1e-3)


def test_every_work_is_a_task_of_its_size() -> None:
    keys: set[str] = set()
    for name, work in {**WORK, **MOBILENET}.items():
        task = task_of(work)
        keys.add(task.key)
        assert work.flops <= task.flops < 1.5 * work.flops, name  # bias and ReLU count there
    assert len(keys) == len(WORK) + len(MOBILENET)


def test_layers_that_no_operator_does() -> None:
    both = Chain("two", (Convolution("a", 8, 4, 4, 3, 1), Convolution("b", 8, 4, 4, 3, 1)))
    with pytest.raises(NotImplementedError, match="two"):
        task_of(both)


@pytest.mark.parametrize("name", levels.LEVEL_NAMES)
def test_the_peak_of_a_level(name: str) -> None:
    """A quarter at least of what its width makes likely, and no more than the machine's."""
    target, here = Target(name), host()
    if target.vector_bytes > here.vector_bytes or not here.has("fma"):
        pytest.skip("this machine cannot run it")
    limit, most = level_peak(target, samples=3), peak(samples=3)
    assert most * target.vector_bytes / here.vector_bytes / 8 < limit < 1.5 * most
