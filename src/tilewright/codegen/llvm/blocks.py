"""Blocks: stores and updates where their conditions hold."""

from __future__ import annotations

from collections.abc import Callable

from tilewright import dtypes
from tilewright.codegen.llvm.builder import Value, is_zero
from tilewright.codegen.llvm.intrinsics import Intrinsics
from tilewright.codegen.llvm.lanes import OPERATION, chosen
from tilewright.expr.scalar import Binary, Scalar, Within
from tilewright.loops.nodes import Block


class Blocks(Intrinsics):
    """Emits blocks; live registers are merged behind the branches around them."""

    def block(self, block: Block) -> None:
        self.stage = block.stage
        open_conditions: list[Within] = []
        for condition in (*block.guards, *block.when):
            known = self.decide(condition)
            if known is False:
                return
            if known is None:
                open_conditions.append(condition)
        if any(self.varies(c) for c in open_conditions):
            self.lane_by_lane(block)
        elif open_conditions:
            self.guarded(open_conditions, lambda: self.update(block))
        else:
            self.update(block)

    def lane_by_lane(self, block: Block) -> None:
        vector = self.vector
        assert vector
        self.vector, self.lane = None, vector
        for lane in range(vector.base, vector.base + vector.active):
            self.env[vector.loop] = lane
            self.block(block)
        del self.env[vector.loop]
        self.vector, self.lane = vector, None

    def guarded(self, open_conditions: list[Within], update: Callable[[], None]) -> None:
        """Store only where the conditions hold; live registers are merged behind the branch."""
        tests = [self.test(c) for c in open_conditions]
        test = tests[0]
        for other in tests[1:]:
            test = self.emit(f"and i1 {test}, {other}")
        inside, join = self.fresh_label("if"), self.fresh_label("join")
        self.out.append(f"  br i1 {test}, label %{inside}, label %{join}")
        origin, before = self.label, dict(self.registers)
        self.start(inside)
        update()
        source, after = self.label, self.registers
        self.out.append(f"  br label %{join}")
        self.start(join)
        self.registers = {}
        for slot, value in after.items():
            old = before.get(slot)
            if old is value:
                self.registers[slot] = value
                continue
            if old is None or old.type != value.type:
                old = Value("poison", value.dtype, value.width)
            if old != value:
                name = self.emit(
                    f"phi {value.type} [ {value.name}, %{source} ], [ {old.name}, %{origin} ]"
                )
                value = Value(name, value.dtype, value.width)
            self.registers[slot] = value

    def update(self, block: Block) -> None:
        if block.reduce is None:
            self.store(block.buffer, block.index, self.evaluate(block.value))
            return
        value = block.value
        match value:
            case Binary(op="mul", left=left, right=right, dtype=dtype) if (
                block.reduce == "sum" and dtypes.is_float(dtype)
            ):
                scales = self.number(left), self.number(right)
                if 0.0 in scales:
                    return
                before = self.load(block.buffer, block.index)
                if scales[0] in (1.0, -1.0):
                    total = self.signed_add(scales[0], right, before)
                elif scales[1] in (1.0, -1.0):
                    total = self.signed_add(scales[1], left, before)
                else:
                    a, b = self.evaluate(left), self.evaluate(right)
                    start = is_zero(before)
                    total = self.apply("mul", a, b) if start else self.multiply_add(a, b, before)
            case _:
                added = self.evaluate(value)
                before = self.load(block.buffer, block.index)
                total = self.apply(OPERATION[block.reduce], added, before)
        vector = self.vector
        masked = vector and block.when and vector.active < vector.width
        if vector and masked and block.buffer in self.promoted:
            total, before = (self.spread(v, vector.width) for v in (total, before))
            total = chosen(self, vector.active, total, before)
        self.store(block.buffer, block.index, total)

    def signed_add(self, sign: float, scalar: Scalar, total: Value) -> Value:
        """Return total + scalar, or total - scalar if the sign is -1."""
        value = self.evaluate(scalar)
        if is_zero(total):
            return value if sign > 0 else self._unary("neg", value)
        return self.apply("add" if sign > 0 else "sub", total, value)
