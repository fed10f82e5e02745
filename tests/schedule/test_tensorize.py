"""tensorize: what fits an intrinsic, what is refused and why, and nests of populations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.differential import check_interpreted

import tilewright as tw
from tilewright import Schedule
from tilewright.errors import ScheduleError
from tilewright.loops.nodes import loops
from tilewright.schedule.intrinsics import INTRINSICS


def product(
    rows: int = 4,
    depth: int = 64,
    columns: int = 32,
    types: tuple[str, str, str] = ("uint8", "int8", "int32"),
) -> tw.Tensor:
    """C = A @ W with operands of two types, added up in a third."""
    left, right, total = types
    a = tw.tensor("A", (rows, depth), left)
    w = tw.tensor("W", (depth, columns), right, constant=True)
    k = tw.reduce_axis("k", depth)
    return tw.compute(
        "C",
        (rows, columns),
        lambda y, x: tw.sum(tw.cast(total, a[y, k]) * tw.cast(total, w[k, x]), over=k),
    )


def grouped(output: tw.Tensor, rounds: int = 4, wide: object = 16) -> Schedule:
    """Put groups of the reduction innermost, in tiles of columns, and pack the weights so."""
    s = Schedule(output)
    depth, columns = int(s.extent("k")), int(s.extent("x"))
    s = s.split("k", (-(-depth // rounds), rounds)).split("x", (-(-columns // wide), wide))  # type: ignore[operator]
    return s.reorder("y", "x.0", "k.0", "x.1", "k.1").pack("W")


def _in_registers() -> Schedule:
    s = grouped(product()).split("y", (2, 2)).reorder("y.0", "x.0", "k.0", "y.1", "x.1", "k.1")
    s = s.unroll("y.1").tensorize("x.1", "vnni_u8s8")
    return s.cache_write("C", "x.0").parallel("y.0").parallel("x.0")


def _padded() -> Schedule:
    a, w = tw.tensor("A", (6, 8), "int8"), tw.tensor("W", (3, 8, 16), "int8", constant=True)
    pad = tw.compute("pad", (8, 8), lambda y, c: tw.select((y >= 1) & (y < 7), a[y - 1, c], 0))
    r, k = tw.reduce_axis("r", 3), tw.reduce_axis("k", 8)
    conv = tw.compute(
        "C",
        (6, 16),
        lambda y, x: tw.sum(
            tw.cast("int32", pad[y + r, k]) * tw.cast("int32", w[r, k, x]), over=(r, k)
        ),
    )
    s = Schedule(conv).inline("pad").split("k", (2, 4)).reorder("y", "r", "k.0", "x", "k.1")
    return s.pack("W").tensorize("x", "vnni_s8s8")


NESTS: dict[str, Callable[[], Schedule]] = {
    "a product in register tiles": _in_registers,
    "guards of lanes and of the reduction": lambda: grouped(product(3, 7, 21)).tensorize(
        "x.1", "vnni_u8s8"
    ),
    "padding": _padded,
    "bfloat16": lambda: grouped(product(types=("bfloat16", "bfloat16", "float32")), 2).tensorize(
        "x.1", "bf16"
    ),
}


@pytest.mark.parametrize("name", NESTS)
def test_interpreted_by_its_meaning(name: str) -> None:
    check_interpreted(NESTS[name]())


@pytest.mark.parametrize("name", NESTS)
def test_recorded(name: str) -> None:
    s = NESTS[name]()
    assert Schedule.from_json(s.output, s.to_json()) == s


def test_nests(golden: Callable[[str, str], None]) -> None:
    texts = [f"# {name}\n{make().loops}\n" for name, make in NESTS.items()]
    golden("tensorized", "\n".join(texts))


def _fit() -> Schedule:
    return grouped(product())


REFUSED: dict[str, Callable[[], Schedule]] = {
    "no such intrinsic": lambda: _fit().tensorize("x.1", "vnni"),
    "no such loop": lambda: _fit().tensorize("z", "vnni_u8s8"),
    "a loop that holds a block": lambda: _fit().tensorize("k.1", "vnni_u8s8"),
    "other rounds": lambda: grouped(product(), 8).tensorize("x.1", "vnni_u8s8"),
    "no reduction inside": lambda: _fit().reorder("k.1", "y", "x.1").tensorize("y", "vnni_u8s8"),
    "signed for unsigned": lambda: _fit().tensorize("x.1", "vnni_s8s8"),
    "the wrong sum": lambda: grouped(product(types=("uint8", "int8", "float32"))).tensorize(
        "x.1", "vnni_u8s8"
    ),
    "not packed": lambda: (
        Schedule(product())
        .split("k", (16, 4))
        .reorder("y", "k.0", "x", "k.1")
        .tensorize("x", "vnni_u8s8")
    ),
    "a fused reduction": lambda: _fit().fuse("x.1", "k.1").tensorize("x.1+k.1", "vnni_u8s8"),
    "reordered after": lambda: _fit().tensorize("x.1", "vnni_u8s8").reorder("k.1", "x.1"),
    "packed after, with data between": lambda: (
        _fit().tensorize("x.1", "vnni_u8s8").reorder("k.0", "k.1", "x.1")
    ),
    "split after": lambda: _fit().tensorize("x.1", "vnni_u8s8").split("k.1", (2, 2)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused(name: str) -> None:
    with pytest.raises(ScheduleError):
        REFUSED[name]()


def test_messages(golden: Callable[[str, str], None]) -> None:
    said: list[str] = []
    for name, attempt in REFUSED.items():
        with pytest.raises(ScheduleError) as caught:
            attempt()
        said.append(f"# {name}\n{caught.value}\n")
    golden("tensorize_errors", "\n".join(said))


def test_a_population_is_tensorized_at_once() -> None:
    wide = np.array([8, 16, 32])
    s = grouped(product(), wide=wide).tensorize("x.1", "vnni_u8s8")
    assert [loop.name for loop in loops(s.loops.body) if loop.intrinsic] == ["k.1"]
    assert np.array_equal(s.extent("x.1"), wide)


@pytest.mark.parametrize("name", INTRINSICS)
def test_a_meaning_matches_itself(name: str) -> None:
    s = Schedule(INTRINSICS[name].meaning).tensorize("i", name)
    check_interpreted(s)
