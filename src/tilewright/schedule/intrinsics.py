"""Instructions that compute a small loop nest at once: what each of them means.

An intrinsic is declared by the expression that it computes: lanes, and a reduction in each of them.
The loops of that expression are its meaning, which nests are matched with; code generation has an
emitter of the same name. To add one, declare it here and write its emitter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from tilewright.expr.affine import Affine, text
from tilewright.expr.parts import loads
from tilewright.expr.scalar import Binary, Cast, Load, Scalar
from tilewright.expr.tensor import Tensor, cast, compute, reduce_axis, sum, tensor
from tilewright.loops.lower import lower
from tilewright.loops.nodes import Block, Buffer, Loop, Nest, offset, walk
from tilewright.loops.tidy import strip
from tilewright.target import Target

_INTRINSIC = attrgetter("intrinsic")
LANES = 16  # of the meaning: code takes as many as a vector register has


@dataclass(frozen=True)
class Intrinsic:
    """An instruction by the expression that it computes.

    `meaning` has one data axis, the lanes, and one reduce axis, the rounds that one instruction
    adds up; its inputs are the operands. An operand may also be the same for all lanes. `needs`
    lists alternatives: features of a CPU (LLVM's names), all of which it must have.
    """

    name: str
    meaning: Tensor
    needs: tuple[tuple[str, ...], ...]

    @property
    def rounds(self) -> int:
        """How many rounds of the reduction one instruction adds up."""
        assert self.meaning.stage
        return self.meaning.stage.reduce_axes[0].extent

    @cached_property
    def nest(self) -> Nest:
        return lower(self.meaning)

    def on(self, target: Target) -> bool:
        """Whether the target is known to have the instruction."""
        return any(all(map(target.has, features)) for features in self.needs)

    def operands(self, value: Scalar) -> dict[str, Load] | None:
        """Return the load that is each operand, if a term of a sum is of this form."""
        return _same(next(walk(self.nest.body))[1].value, strip(value)[0])


def dot(left: str, right: str, total: str, rounds: int) -> Tensor:
    """Return the expression of a dot product in each lane.

    >>> print(lower(dot("uint8", "int8", "int32", 4)))
    for i in 16:
      for k in 4:
        acc[i] += (int32(a[i, k]) * int32(b[i, k]))
    """
    a, b = tensor("a", (LANES, rounds), left), tensor("b", (LANES, rounds), right)
    k = reduce_axis("k", rounds)
    return compute(
        "acc", (LANES,), lambda i: sum(cast(total, a[i, k]) * cast(total, b[i, k]), over=k)
    )


_VNNI = (("avx512vnni", "avx512vl"), ("avxvnni",))
_SDOT = (("neon", "dotprod"),)

INTRINSICS: Mapping[str, Intrinsic] = {
    made.name: made
    for made in (
        Intrinsic("vnni_u8s8", dot("uint8", "int8", "int32", 4), _VNNI),
        Intrinsic("vnni_s8s8", dot("int8", "int8", "int32", 4), _VNNI),
        Intrinsic("sdot_u8s8", dot("uint8", "int8", "int32", 4), _SDOT),
        Intrinsic("sdot_s8s8", dot("int8", "int8", "int32", 4), _SDOT),
        Intrinsic("bf16", dot("bfloat16", "bfloat16", "float32", 2), (("avx512bf16", "avx512vl"),)),
    )
}
"""Sums and products wrap as int32 does; that of bfloat16 adds up in float32, in another order, and
takes subnormal numbers as zero."""


class Match(NamedTuple):
    """A block that an intrinsic computes, and the load that is each of its operands."""

    block: Block
    operands: dict[str, Load]


def match(
    intrinsic: Intrinsic, lanes: str, loop: Loop, buffers: Mapping[str, Buffer]
) -> Match | str:
    """Match a reduce loop inside of the loop `lanes` with a meaning; else say what differs."""
    (_, across), wanted = next(walk(intrinsic.nest.body))
    if not loop.reduce or np.any(loop.extent != intrinsic.rounds):
        kind = "reduces" if loop.reduce else "does not reduce"
        return (
            f"{loop.name!r}, inside of {lanes!r}, {kind} and runs {text(loop.extent)} times, but "
            f"the instruction reduces over {intrinsic.rounds} rounds; split the reduction by it"
        )
    block = loop.body[0]
    if len(loop.body) != 1 or not isinstance(block, Block) or loop.binds:
        return f"{loop.name!r} holds more than one block"
    value, operands = strip(block.value)[0], intrinsic.operands(block.value)
    if block.reduce != wanted.reduce or operands is None:
        types = ", ".join(f"{x.buffer} of {x.dtype}" for x in loads(wanted.value))
        return (
            f"it computes {block.reduce or 'no sum'} of {value}, but the instruction "
            f"{wanted.reduce} of {wanted.value} with {types}"
        )
    places = {"acc": Load(block.buffer, block.index, buffers[block.buffer].dtype), **operands}
    for name, load in places.items():
        shape = buffers[load.buffer].shape
        flat, own = offset(shape, load.index), offset(*_place(intrinsic.nest, wanted, name))
        for loop_name, role in ((lanes, "i"), (loop.name, across.name)):
            step, wants = flat.coefficient(loop_name), own.coefficient(role)
            repeated = role == "i" and name != "acc" and np.all((step == 0) | (step == wants))
            if not (repeated or np.all(step == wants)):
                return (
                    f"along {loop_name!r} it goes through {load.buffer} in steps of {text(step)}, "
                    f"but the instruction through {name} in steps of {wants}; pack "
                    f"{load.buffer!r} once the loops are in order"
                )
    if buffers[block.buffer].dtype != intrinsic.meaning.dtype:
        return (
            f"it adds up in {buffers[block.buffer].dtype}, but the instruction in "
            f"{intrinsic.meaning.dtype}"
        )
    return Match(block, operands)


def _place(nest: Nest, block: Block, name: str) -> tuple[tuple[int, ...], tuple[Affine, ...]]:
    """Return the shape and the index of an operand, or of the sums, in a meaning."""
    index = next((x.index for x in loads(block.value) if x.buffer == name), block.index)
    return nest.by_name[name].shape, index


def _same(wanted: Scalar, value: Scalar) -> dict[str, Load] | None:
    """Return the load that stands for each one of `wanted`, if the values are otherwise equal."""
    match (wanted, value):
        case (Load(buffer=name, dtype=dtype), Load(gathered=())) if value.dtype == dtype:
            return {name: value}
        case (Cast(value=a, dtype=dtype), Cast(value=b)) if value.dtype == dtype:
            return _same(a, b)
        case (Binary(op=op), Binary(op=other)) if op == other and value.dtype == wanted.dtype:
            return _both(wanted, value.left, value.right) or _both(wanted, value.right, value.left)
        case _:
            return None


def _both(wanted: Binary, left: Scalar, right: Scalar) -> dict[str, Load] | None:
    first, second = _same(wanted.left, left), _same(wanted.right, right)
    return None if first is None or second is None else first | second


def broken(nest: Nest, before: Nest) -> str:
    """Say which loop an intrinsic no longer computes, and why; empty if there is none.

    What a step left as it was `before` is not looked at again.
    """
    if not any(map(_INTRINSIC, nest.loops.values())):
        return ""
    old = {id(loop) for loop in before.loops.values()}
    for outer, block in walk(nest.body):
        names = (block.buffer, *(load.buffer for load in block.loads))
        same = all(nest.by_name[name] is before.by_name.get(name) for name in names)
        for around, loop in zip((None, *outer), outer, strict=False):
            if not loop.intrinsic or (same and id(around) in old):
                continue
            if around is None or around.kind != "vectorize":
                reason = f"{loop.name!r} is not directly inside of a vector"
            else:
                found = match(INTRINSICS[loop.intrinsic], around.name, loop, nest.by_name)
                reason = found if isinstance(found, str) else ""
            if reason:
                return (
                    f"{loop.intrinsic} would no longer compute {loop.name!r}: {reason}. "
                    "Tensorize after this step."
                )
    return ""
