"""Which steps take loads at indices that are data, and which refuse them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.differential import check_compiled, check_interpreted

import tilewright as tw
from tilewright import Schedule
from tilewright.errors import ScheduleError

X, IDS = tw.tensor("X", (7, 40)), tw.tensor("I", (5,), "int64")
W = tw.tensor("W", (40, 32), constant=True)


def doubled() -> Schedule:
    """Rows of a computed table."""
    twice = tw.compute("twice", (7, 40), lambda r, c: X[r, c] * 2.0)
    return Schedule(tw.compute("rows", (5, 40), lambda i, j: twice[IDS[i], j]))


def product(left: str = "float32", right: str = "float32", total: str = "float32") -> Schedule:
    """Rows of a table times weights."""
    x, w = tw.tensor("X", (7, 40), left), tw.tensor("W", (40, 32), right, constant=True)
    k = tw.reduce_axis("k", 40)
    return Schedule(
        tw.compute(
            "P",
            (5, 32),
            lambda i, j: tw.sum(tw.cast(total, x[IDS[i], k]) * tw.cast(total, w[k, j]), over=k),
        )
    )


def instruction() -> Schedule:
    s = product("uint8", "int8", "int32").split("k", (10, 4)).reorder("i", "k.0", "j", "k.1")
    return s.pack("W").tensorize("j", "vnni_u8s8")


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda: doubled().inline("twice"), "at an index that is data"),
        (lambda: product().pack("X"), "at an index that is data"),
        (lambda: doubled().fuse_at("rows", "r"), "at other points than it writes"),
        (instruction, "no sum|but the instruction"),
    ],
)
def test_is_refused(step: Callable[[], Schedule], message: str):
    with pytest.raises(ScheduleError, match=message):
        step()


@pytest.mark.parametrize(
    "make",
    [
        lambda: doubled().parallel("r"),
        lambda: product().split("k", (10, 4)).reorder("i", "k.0", "j", "k.1").pack("W"),
        lambda: product().pack("W").vectorize("j").cache_write("P", "i"),
        lambda: product().cache_read("I", "i"),
        lambda: product().cache_read("X", "j"),
        lambda: product().split("k", (3, 16)).reorder("i", "j", "k.0", "k.1").rfactor("P", "k.1"),
        lambda: doubled().fuse("i", "j").parallel("i+j").prefetch("twice", 64),
        lambda: doubled().pad("i", 4).split("i", (2, 4)).reorder("i.0", "j", "i.1").unroll("i.1"),
    ],
)
def test_is_taken(make: Callable[[], Schedule]):
    check_interpreted(make())
    check_compiled(make())


def test_a_producer_read_anywhere_is_computed_whole():
    """Only along the dimension whose index is data: of the other one, just what is read."""
    s = doubled().reorder("j", "i").compute_at("twice", "j")
    assert s.loops.by_name["twice"].shape == (7, 1)
    check_interpreted(s)
    check_compiled(s)


def test_a_stage_that_computes_indices_can_be_inlined():
    ids = tw.tensor("ids", (5,), "int32")
    later = tw.compute("later", (5,), lambda a: ids[a] + 1)
    s = Schedule(tw.compute("R", (5, 40), lambda i, j: X[later[i], j])).inline("later")
    assert "R[i, j] = X[(ids[i] + 1), j]" in str(s.loops)
    check_interpreted(s)
    check_compiled(s)


def test_winograd_takes_gathered_images_but_not_gathered_weights():
    x = tw.tensor("X", (7, 8, 8, 4))
    w = tw.tensor("W", (3, 3, 4, 8), constant=True)
    ky, kx, c = tw.reduce_axis("ky", 3), tw.reduce_axis("kx", 3), tw.reduce_axis("c", 4)
    over = (ky, kx, c)

    def of(row: bool) -> Schedule:
        def value(n: tw.Axis, a: tw.Axis, b: tw.Axis, o: tw.Axis) -> tw.Scalar:
            taps = w[ky, kx, c, o] if row else w[ky, kx, c, IDS[0]]
            return tw.sum(x[IDS[n] if row else n, a + ky, b + kx, c] * taps, over=over)

        return Schedule(tw.compute("V", (5, 6, 6, 8), value))

    s = of(row=True).winograd("V", 2)
    rng = np.random.default_rng(0)
    given = {
        t.name: rng.standard_normal(t.shape).astype(t.dtype) if t.dtype == "float32"
        else rng.integers(-7, 7, t.shape)
        for t in s.output.inputs
    }  # fmt: skip
    kernel, plain = (tw.build(each) for each in (s, of(row=True)))
    arrays = [given[b.name] for b in kernel.inputs]
    np.testing.assert_allclose(kernel(*arrays), plain(*arrays), atol=1e-4)
    with pytest.raises(ScheduleError, match="weights are read at an index that is data"):
        of(row=False).winograd("V", 2)
