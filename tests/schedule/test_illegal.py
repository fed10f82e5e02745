"""Every step that would change the result is refused, in words that say why and what else to do."""

# pyright: reportArgumentType=false
# (what is wrong on purpose)

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.schedule.programs import matmul, padded_convolution, pointwise

import tilewright as tw
from tilewright import Schedule
from tilewright.errors import ScheduleError

Case = Callable[[], object]


def _two_producers() -> Schedule:
    a = tw.tensor("A", (8,))
    k = tw.reduce_axis("k", 8)
    first = tw.compute("first", (8,), lambda i: a[i] + 1.0)
    second = tw.compute("second", (8,), lambda j: tw.sum(a[j] * a[k], over=k))
    return Schedule(tw.compute("both", (8,), lambda x: first[x] + second[x]))


def _grown() -> Schedule:
    a = tw.tensor("A", (4,))
    first = tw.compute("first", (4,), lambda i: a[i] + 1.0)
    return Schedule(tw.compute("more", (6,), lambda x: tw.select(x < 4, first[x], 0.0)))


def _reduced_twice() -> Schedule:
    a = tw.tensor("A", (4, 4))
    k, r = tw.reduce_axis("k", 4), tw.reduce_axis("r", 4)
    rows = tw.compute("rows", (4,), lambda i: tw.sum(a[i, r], over=r))
    return Schedule(tw.compute("total", (), lambda: tw.sum(rows[k], over=k)))


def B() -> Schedule:  # noqa: N802 - named after its output
    return Schedule(pointwise())


def C() -> Schedule:  # noqa: N802
    return Schedule(matmul())


def CONV() -> Schedule:  # noqa: N802
    return Schedule(padded_convolution())


def D() -> Schedule:  # noqa: N802
    t = tw.tensor("A", (2, 3, 4))
    return Schedule(tw.compute("D", (2, 3, 4), lambda a, b, c: t[a, b, c] + 1.0))


CASES: dict[str, Case] = {
    "no such loop": lambda: B().split("z", (3, 4)),
    "split covers too little": lambda: C().split("k", (3, 5)),
    "split in one part": lambda: B().split("x", (12,)),
    "split by zero": lambda: B().split("x", (12, 0)),
    "split a marked loop": lambda: B().unroll("x").split("x", (3, 4)),
    "split by a number": lambda: B().split("x", 4),
    "split by a text": lambda: B().split("x", "12"),
    "split by a half": lambda: B().split("x", (2.5, 4)),
    "split by half an array": lambda: B().split("x", (np.array([2.5]), 4)),
    "split by nothing known": lambda: B().split("x", (None, 4)),
    "split by a name": lambda: B().split("x", ("a", 4)),
    "split of no name": lambda: B().split(0, (3, 4)),
    "pad by a half": lambda: B().pad("x", 2.5),
    "prefetch a half ahead": lambda: B().prefetch("A", 1.5),
    "reorder by a list": lambda: C().reorder(["x", "y"]),
    "parallel of a number": lambda: C().parallel(0),
    "schedule of a number": lambda: Schedule(3),
    "schedule of an input": lambda: Schedule(tw.tensor("A", (3,))),
    "pad by zero": lambda: B().pad("x", 0),
    "reorder nothing": lambda: B().reorder(),
    "reorder twice the same": lambda: C().reorder("y", "y"),
    "reorder loops of two stages": lambda: CONV().reorder("x", "out:x"),
    "reorder round two loops": lambda: CONV().compute_at("pad", "x").reorder("c", "x"),
    "reorder a fused loop": lambda: B().split("x", (3, 4)).fuse("x.0", "x.1").split(
        "x.0+x.1", (3, 4)).reorder("x.0+x.1.1", "x.0+x.1.0"),
    "fuse loops apart": lambda: C().fuse("y", "k"),
    "fuse across a reduction": lambda: C().fuse("x", "k"),
    "fuse marked loops": lambda: C().parallel("y").fuse("y", "x"),
    "parallel reduction": lambda: C().parallel("k"),
    "parallel inside a serial loop": lambda: C().parallel("x"),
    "parallel inside a fused loop": lambda: D().fuse("a", "b").parallel("a+b").parallel("c"),
    "parallel beside another loop": lambda: CONV().compute_at("pad", "x").parallel("x").parallel(
        "c"),
    "reorder a serial loop round a parallel one": lambda: C().parallel("y").reorder("x", "y"),
    "reorder a reduction round a parallel loop": lambda: C().parallel("y").parallel("x").reorder(
        "k", "y", "x"),
    "reorder a serial loop between parallel ones": lambda: D().parallel("a").parallel("b").reorder(
        "a", "c", "b"),
    "unroll round a parallel loop": lambda: C().parallel("y").parallel("x").unroll("y"),
    "vectorize round a parallel loop": lambda: C().parallel("y").parallel("x").vectorize("y"),
    "compute_at of a parallel stage": lambda: CONV().parallel("pad:x").compute_at("pad", "x"),
    "compute_at between parallel loops": lambda: CONV().parallel("x").parallel("c").compute_at(
        "pad", "x"),
    "cache_read between parallel loops": lambda: C().parallel("y").parallel("x").cache_read(
        "A", "y"),
    "cache_write between parallel loops": lambda: C().parallel("y").parallel("x").cache_write(
        "C", "y"),
    "fuse_at between parallel loops": lambda: CONV().parallel("x").parallel("c").fuse_at(
        "out", "x"),
    "vectorize a reduction round a loop": lambda: C().reorder("k", "x").vectorize("k"),
    "vectorize a fused loop": lambda: C().fuse("y", "x").vectorize("y+x"),
    "vectorize too many rounds": lambda: Schedule(pointwise(5000)).vectorize("x"),
    "vectorize inside a vector": lambda: C().vectorize("y").vectorize("x"),
    "vectorize round a tile": lambda: C().cache_write("C", "y").vectorize("y"),
    "unroll too many rounds": lambda: Schedule(pointwise(5000)).unroll("x"),
    "unroll loops in loops": lambda: Schedule(matmul(200)).unroll("y").unroll("x"),
    "unroll a fused loop": lambda: C().fuse("y", "x").unroll("y+x"),
    "cache_read of nothing": lambda: C().cache_read("Z", "y"),
    "cache_read where it is not read": lambda: CONV().cache_read("W", "out:x"),
    "cache_read twice": lambda: C().cache_read("A", "y").cache_read("A", "x").cache_read("A", "y"),
    "cache_read of what the loop computes": lambda: CONV().compute_at("pad", "x").cache_read(
        "pad", "x"),
    "cache_read in a vector": lambda: C().vectorize("x").cache_read("A", "x"),
    "cache_write inside of the reduction": lambda: C().reorder("k", "y", "x").cache_write("C", "x"),
    "cache_write elsewhere": lambda: CONV().cache_write("conv", "out:x"),
    "cache_write of a stage read in its loop": lambda: CONV().compute_at("pad", "c").cache_write(
        "pad", "x"),
    "cache_write twice": lambda: C().cache_write("C", "y").cache_write("C", "x"),
    "pack an output": lambda: C().pack("C"),
    "pack twice": lambda: C().pack("W").pack("W.packed"),
    "pack what many load": lambda: Schedule(_two_producers().output).pack("A"),
    "pack under a fused loop": lambda: C().fuse("y", "x").pack("A"),
    "inline a reduction": lambda: CONV().inline("conv"),
    "inline the output": lambda: B().inline("B"),
    "inline no stage": lambda: B().inline("A"),
    "inline a split stage": lambda: CONV().split("pad:x", (4, 3)).inline("pad"),
    "compute_at of the output": lambda: CONV().compute_at("out", "x"),
    "compute_at where it is not read": lambda: CONV().compute_at("pad", "out:x"),
    "compute_at of a split stage": lambda: CONV().split("pad:x", (4, 3)).compute_at("pad", "x"),
    "compute_at again": lambda: CONV().compute_at("pad", "x").compute_at("pad", "c"),
    "compute_at of a reduction in a reduction": lambda: _reduced_twice().compute_at("rows", "k"),
    "compute_at in a vector": lambda: CONV().vectorize("out:c").compute_at("conv", "out:c"),
    "fuse_at of a reduction": lambda: CONV().fuse_at("conv", "pad:x"),
    "fuse_at where nothing is read": lambda: CONV().fuse_at("out", "pad:x"),
    "fuse_at before its other input": lambda: _two_producers().fuse_at("both", "i"),
    "fuse_at of a larger stage": lambda: _grown().fuse_at("more", "i"),
    "fuse_at of a split stage": lambda: CONV().split("out:x", (5, 2)).fuse_at("out", "x"),
    "rfactor a data loop": lambda: C().rfactor("C", "y"),
    "rfactor a loop of another stage": lambda: CONV().rfactor("conv", "out:x"),
    "rfactor what does not reduce": lambda: B().rfactor("B", "x"),
    "rfactor no loop": lambda: C().rfactor("C", "z"),
    "rfactor no stage": lambda: C().rfactor("D", "k"),
    "rfactor a vector": lambda: C().vectorize("k").rfactor("C", "k"),
    "rfactor between parallel loops": lambda: C().parallel("y").reorder("y", "k", "x").rfactor(
        "C", "k").parallel("k"),
    "rfactor in a vector": lambda: C().vectorize("x").rfactor("C", "k"),
    "rfactor twice": lambda: C().split("k", (4, 4)).rfactor("C", "k.1").rfactor(
        "C", "C:k.1"),
    "recorded step of no primitive": lambda: Schedule.from_json(pointwise(), [{"step": "Bend"}]),
    "recorded step with odd arguments": lambda: Schedule.from_json(
        pointwise(), [{"step": "Split", "lop": "x"}]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_illegal_step_is_refused(name: str) -> None:
    with pytest.raises(ScheduleError):
        CASES[name]()


def test_messages(golden: Callable[[str, str], None]) -> None:
    said: list[str] = []
    for name, case in CASES.items():
        try:
            case()
        except ScheduleError as error:
            said.append(f"# {name}\n{error}\n")
    golden("schedule_errors", "\n".join(said))


def test_factors_may_be_those_of_numpy() -> None:
    for factors in ((np.int64(3), 4), [3, 4], np.array([3, 4])):
        schedule = B().split("x", factors)
        assert schedule.steps == B().split("x", (3, 4)).steps
        assert Schedule.from_json(pointwise(), schedule.to_json()).steps == schedule.steps


def test_a_refused_step_changes_nothing() -> None:
    schedule = C()
    before = str(schedule.loops)
    with pytest.raises(ScheduleError):
        schedule.parallel("k")
    assert str(schedule.loops) == before
    assert schedule.steps == ()
