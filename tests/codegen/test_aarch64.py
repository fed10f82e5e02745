"""Code for AArch64: objects for every operator, whole, and with what the target has."""

from __future__ import annotations

import random
import struct
from typing import Any

import numpy as np
import pytest
from tests.differential import make
from tests.ops import draws
from tests.ops.operators import EDGES

import tilewright as tw
from tilewright import Schedule, Target
from tilewright.codegen.llvm.compile import assembly
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.ops.quantized import Requantized
from tilewright.runtime.artifact import Artifact, compile_nest
from tilewright.schedule.intrinsics import INTRINSICS
from tilewright.tuning.task import Operator, Task

PLAIN, DOT = Target("aarch64"), Target("neoverse-n1")
MACHINE = 183  # AArch64, in the header of an ELF file
MEMORY = {"memcpy", "memset", "memmove"}
LIBM = {"exp", "log", "tanh", "erf"}  # of float64, which is not vector code
FAMILIES = tuple(dict.fromkeys(draws.FAMILIES))
SHORT: tuple[Operator, ...] = (
    *(Conv2d(1, 6, 7, 5, 19, (3, 3), pads=(1, 1, 1, 1), bias=True, dtype=dtype)
      for dtype in ("int8", "uint8", "float16", "bfloat16")),
    *(Dense(3, 65, 33, relu=True, dtype=dtype) for dtype in ("int8", "uint8", "bfloat16")),
    Requantized(Dense(8, 35, 54, bias=True, dtype="uint8"), "int8", 7),
    Requantized(Conv2d(1, 6, 7, 8, 16, (3, 3), dtype="int8"), "float32"),
)  # fmt: skip


def symbols(code: bytes) -> dict[str, bool]:
    """Return the global symbols of an ELF file of 64 bits, and whether each is defined."""
    start = struct.unpack_from("<Q", code, 0x28)[0]
    size, count = struct.unpack_from("<HH", code, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, start + size * i) for i in range(count)]
    (table,) = (s for s in sections if s[1] == 2)  # SHT_SYMTAB
    names = sections[table[6]][4]
    found: dict[str, bool] = {}
    for at in range(table[4], table[4] + table[5], 24):
        name, info, _, section, _, _ = struct.unpack_from("<IBBHQQ", code, at)
        if info >> 4:  # STB_LOCAL is 0
            first = names + name
            found[code[first : code.index(b"\0", first)].decode()] = section != 0
    return found


def check(schedule: Schedule, target: Target) -> Artifact:
    """Compile a schedule; the object must be whole but for what kernels may call."""
    made = compile_nest(schedule.loops, target)
    assert made.code[:6] == b"\x7fELF\x02\x01"
    assert struct.unpack_from("<H", made.code, 0x12)[0] == MACHINE
    found = symbols(made.code)
    assert found["kernel"]
    assert found["kernel.repeat"]
    undefined = {name for name, defined in found.items() if not defined}
    wide = any(b.dtype == "float64" for b in schedule.loops.buffers)
    assert undefined <= {*made.calls, *MEMORY, *(LIBM if wide else ())}, schedule.loops
    return made


def check_operator(operator: Operator, target: Target, candidates: int) -> list[Schedule]:
    task = Task(operator, target)
    rows = task.space.sample(np.random.default_rng(0), candidates)
    every = [task.fallback(), *(task.schedule(task.space.config(row)) for row in rows)]
    for schedule in every:
        check(schedule, target)
    return every


@pytest.mark.parametrize("operator", EDGES, ids=lambda o: o.name)
def test_objects_of_operators(operator: Operator) -> None:
    check_operator(operator, PLAIN, 1)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_objects_of_families(family: Any) -> None:
    for seed in range(2):
        check_operator(family(random.Random(seed).choice), PLAIN, 1)


@pytest.mark.parametrize("operator", SHORT, ids=repr)
@pytest.mark.parametrize("target", [PLAIN, DOT], ids=lambda t: t.name)
def test_objects_of_short_types(operator: Operator, target: Target) -> None:
    for schedule in check_operator(operator, target, 3):
        used = {name for name in INTRINSICS if name in str(schedule.loops)}
        bytes_ = "int8" in repr(operator)
        assert used <= ({"sdot_u8s8", "sdot_s8s8"} if target is DOT and bytes_ else set[str]())


@pytest.mark.parametrize("mode", ["steps", "tiled"])
def test_objects_of_random_programs(mode: str) -> None:
    for seed in range(40):
        check(make(mode, seed), PLAIN)


@pytest.mark.parametrize("operator", [Dense(64, 64, 64, dtype=d) for d in ("int8", "uint8")])
def test_products_of_bytes_take_their_instruction(operator: Operator) -> None:
    for target, wanted in (DOT, True), (PLAIN, False):
        nest = Task(operator, target).fallback().loops
        text = assembly(compile_nest(nest, target).llvm, target)
        assert ("sdot" in text) == wanted == ("sdot" in str(nest))


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_vectors_fill_the_registers_of_neon(dtype: str) -> None:
    """Wider ones than a register are cut; halves are widened and narrowed by instructions."""
    a = tw.tensor("A", (4, 64), dtype)
    s = Schedule(tw.compute("B", (4, 64), lambda y, x: a[y, x] * a[y, x] + 1)).vectorize("x")
    for target in PLAIN, DOT:
        text = assembly(check(s, target).llvm, target)
        assert {"float32": "v0.4s", "float16": "fcvtl", "float64": "v0.2d"}[dtype] in text
        assert "__" not in text  # no call into the compiler's library


def test_angles_and_powers() -> None:
    x = tw.tensor("X", (37,))
    for value, called in (tw.sin, {"sinf"}), (lambda v: tw.power(v, 0.7), set[str]()):
        made = tw.compute("Y", (37,), lambda i: value(x[i]))  # noqa: B023
        code = compile_nest(Schedule(made).vectorize("i").loops, PLAIN).code
        assert {name for name, defined in symbols(code).items() if not defined} <= called


def test_a_register_wider_than_the_machine_has_is_cut() -> None:
    wide = Target("wide", PLAIN.triple, "neoverse-n1", vector_bytes=64, registers=32)
    for operator in Dense(8, 64, 64), Dense(8, 64, 64, dtype="int8"):
        schedule = Task(operator, wide).fallback()
        check(schedule, wide)
    assert "sdot_s8s8" in str(schedule.loops)


def test_what_a_level_has() -> None:
    assert PLAIN.key == "aarch64/128b" != DOT.key
    assert (PLAIN.lanes(4), PLAIN.registers) == (4, 32)
    assert [t.has("neon") for t in (PLAIN, DOT, Target("x86-64"))] == [True, True, False]
    assert [t.has("dotprod") for t in (PLAIN, DOT)] == [False, True]
    assert Target("aarch64", features=("+dotprod",)).has("dotprod")
    assert [n for n, made in INTRINSICS.items() if made.on(DOT)] == ["sdot_u8s8", "sdot_s8s8"]
    assert not any(made.on(PLAIN) for made in INTRINSICS.values())
