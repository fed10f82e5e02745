"""Conditions on a loop's variable as bounds of the loop."""

from __future__ import annotations

from tilewright.codegen.llvm.blocks import Blocks
from tilewright.expr.scalar import Within


class Bounds(Blocks):
    """Emits the first and the last round of loops."""

    def clipped(self, variable: str, condition: Within, first: str, end: str) -> tuple[str, str]:
        """Turn a condition on a loop's variable into bounds of the loop."""
        step = int(condition.index.coefficient(variable))
        terms = tuple(t for t in condition.index.terms if t[0] != variable)
        rest = type(condition.index)(condition.index.constant, terms)
        fixed, dynamic = self.resolve(rest)
        if not dynamic:
            if condition.low > -(1 << 40):
                first = self._larger(first, str(-(-(condition.low - fixed) // step)))
            if condition.high < 1 << 40:
                end = self._smaller(end, str(-(-(condition.high - fixed) // step)))
            return first, end
        low, high = rest.bounds(self._range)
        at = self.integer(rest)
        if condition.low > -(1 << 40) and condition.low > low:
            first = self._larger(first, self._ceiling(condition.low, at, step))
        if condition.high < 1 << 40 and condition.high <= high + step * (1 << 20):
            end = self._smaller(end, self._ceiling(condition.high, at, step))
        return first, end

    def _ceiling(self, bound: int, at: str, step: int) -> str:
        """Return ceil((bound - at) / step), or 0 if that is negative."""
        gap = self.emit(f"sub nsw i64 {bound + step - 1}, {at}")
        gap = self._larger("0", gap)
        return gap if step == 1 else self.emit(f"udiv i64 {gap}, {step}")

    def _larger(self, a: str, b: str) -> str:
        return self._choose("max", "sgt", a, b)

    def _smaller(self, a: str, b: str) -> str:
        return self._choose("min", "slt", a, b)

    def _choose(self, word: str, order: str, a: str, b: str) -> str:
        numbers = [x for x in (a, b) if x.lstrip("-").isdigit()]
        if len(numbers) == 2:
            return str((max if word == "max" else min)(int(a), int(b)))
        test = self.emit(f"icmp {order} i64 {a}, {b}")
        return self.emit(f"select i1 {test}, i64 {a}, i64 {b}")
