"""Instructions against their meanings, on all that fits into their types and on any shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.differential import check_compiled
from tests.levels import HERE
from tests.schedule.test_tensorize import grouped, product

import tilewright as tw
from tilewright import Schedule, Target, dtypes
from tilewright.errors import CompileError
from tilewright.expr.rounding import rough
from tilewright.runtime.artifact import compile_nest
from tilewright.schedule.intrinsics import INTRINSICS, Intrinsic

V3 = Target("x86-64-v3", features=("+avxvnni",))
V4 = Target("x86-64-v4", features=("+avx512vnni", "+avx512bf16"))
MNEMONIC = {"vnni_u8s8": "vpdpbusd", "vnni_s8s8": "vpdpbusd", "bf16": "vdpbf16ps"}

Array = np.ndarray[Any, Any]


def targets(intrinsic: Intrinsic) -> list[Target]:
    """Return the targets that have an instruction and that this machine can stand for."""
    here = tw.host()
    able = [t for t in (V3, V4) if all(here.has(f[1:]) for f in t.features)]
    return [t for t in (here, *able) if intrinsic.on(t)]


def extreme(output: tw.Tensor, seed: int) -> dict[str, Array]:
    """Return arrays of any values, the least and the greatest ones among them."""
    rng = np.random.default_rng(seed)
    made: dict[str, Array] = {}
    for t in output.inputs:
        if dtypes.is_float(t.dtype):
            made[t.name] = rng.standard_normal(t.shape).astype(dtypes.numpy(t.dtype))
            continue
        info = np.iinfo(t.dtype)
        ends = rng.choice([info.min, info.max], t.shape)
        random = rng.integers(info.min, info.max, t.shape, endpoint=True)
        made[t.name] = np.where(rng.random(t.shape) < 0.5, ends, random).astype(t.dtype)
    return made


def check(s: Schedule, target: Target, seed: int = 0) -> None:
    given_ = extreme(s.output, seed)
    kernel = tw.build(s, target, threads=1)
    got = kernel(*(given_[b.name] for b in kernel.inputs))
    wanted, allowed = rough(s.output, given_)
    assert np.all(np.abs(got.astype(np.float64) - wanted) <= allowed)
    if not dtypes.is_float(got.dtype.name):
        assert np.array_equal(got, wanted)


@pytest.mark.parametrize("name", INTRINSICS)
def test_a_meaning_is_what_its_instruction_computes(name: str) -> None:
    intrinsic = INTRINSICS[name]
    for target in targets(intrinsic):
        s = Schedule(intrinsic.meaning).tensorize("i", name)
        assert MNEMONIC[name] in tw.build(s, target).asm
        for seed in range(20):
            check(s, target, seed)


@pytest.mark.parametrize("name", INTRINSICS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_products_of_any_shape(name: str, data: st.DataObject) -> None:
    intrinsic = INTRINSICS[name]
    able = targets(intrinsic)
    if not able:
        pytest.skip(f"this machine has no {name}")
    left, right = (t.dtype for t in intrinsic.meaning.inputs)
    rows, depth, columns = (data.draw(st.integers(1, n)) for n in (4, 23, 45))
    output = product(rows, depth, columns, (left, right, intrinsic.meaning.dtype))
    s = grouped(output, intrinsic.rounds, data.draw(st.sampled_from((16, 1, 3, 5, 13, 32))))
    if data.draw(st.booleans()):
        s = s.pack("A")
    s = s.tensorize("x.1", name)
    if data.draw(st.booleans()):
        s = s.cache_write("C", "x.0")
    target = data.draw(st.sampled_from(able))
    check(s, target)
    check_compiled(s, 0, target)  # between guard pages


def test_the_operand_of_lanes_may_be_the_unsigned_one() -> None:
    """Rows in the lanes: the weights are the same for all of them."""
    a, w = tw.tensor("A", (20, 12), "uint8"), tw.tensor("W", (3, 12), "int8")
    k = tw.reduce_axis("k", 12)
    term = lambda x, y: tw.cast("int32", w[x, k]) * tw.cast("int32", a[y, k])  # noqa: E731
    s = Schedule(tw.compute("C", (3, 20), lambda x, y: tw.sum(term(x, y), over=k)))
    s = s.split("k", (3, 4)).reorder("x", "k.0", "y", "k.1").pack("A").tensorize("y", "vnni_u8s8")
    for target in targets(INTRINSICS["vnni_u8s8"]):
        check(s, target)


@pytest.mark.parametrize("name", INTRINSICS)
def test_targets_without_it_are_refused(name: str) -> None:
    s = Schedule(INTRINSICS[name].meaning).tensorize("i", name)
    with pytest.raises(CompileError, match=f"cannot generate {name} for 'x86-64-v4': it needs "):
        compile_nest(s.loops, Target("x86-64-v4"))


@pytest.mark.parametrize("types", [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8")])
@pytest.mark.parametrize("level", [*HERE, ""])
def test_mixed_sums_need_no_instruction(types: tuple[str, str], level: str) -> None:
    s = Schedule(product(3, 37, 45, (*types, "int32"))).reorder("y", "k", "x").vectorize("x")
    target = Target(level) if level else tw.host()
    check(s, target)
    assert "vectorize for x" in str(s.loops)
