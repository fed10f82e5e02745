"""Loops and blocks as LLVM text: accumulators are phis, borders are specialised."""

from __future__ import annotations

from collections.abc import Callable

from tilewright import dtypes
from tilewright.codegen.llvm.builder import Dynamic, Value, is_zero
from tilewright.codegen.llvm.intrinsics import Intrinsics, tensorized
from tilewright.codegen.llvm.lanes import OPERATION, across, chosen, combined, filled, reduced
from tilewright.codegen.llvm.memory import Vector
from tilewright.codegen.llvm.promote import element
from tilewright.codegen.llvm.regions import (
    PEEL,
    Conditions,
    chain_of_parallel,
    conditions,
    inner_kinds,
    pieces,
    written,
)
from tilewright.expr.scalar import Binary, Scalar, Within
from tilewright.loops.nodes import Bind, Block, Buffer, Loop, Node, product, walk
from tilewright.target import Target


class Control(Intrinsics):
    """Emits nodes; `lanes` maps an element type to the lanes of a vector register."""

    def __init__(
        self,
        buffers: dict[str, Buffer],
        promoted: set[str],
        lanes: dict[str, int],
        target: Target,
    ) -> None:
        super().__init__(buffers, promoted, target)
        self.lanes = lanes
        self._conditions: dict[int, Conditions] = {}
        self._shapes: dict[int, tuple[list[Within], int]] = {}
        self._alive: list[tuple[Node, ...]] = []  # keeps ids valid

    def nodes(self, nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            if isinstance(node, Block):
                self.block(node)
            elif node.intrinsic:
                tensorized(self, node)
            elif node.kind == "unroll" or node.extent == 1:
                self.unrolled(node)
            elif node.kind == "vectorize":
                self.vectorized(node)
            else:
                self.serial(node)

    # blocks ------------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
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

    # loops that are written out ----------------------------------------------------------------

    def unrolled(self, loop: Loop) -> None:
        for i in range(loop.extent):
            self.round(loop, i)

    def round(self, loop: Loop, i: int) -> None:
        """Emit one round of a loop whose variable is known."""
        self.env[loop.name] = i
        opened = 0
        for bind in loop.binds:
            low, high = bind.index.bounds(self._range)
            if low == high:
                self.env[bind.name] = low // bind.divisor % bind.modulus
            else:
                self.bind(bind)
                opened += 1
        self.nodes(loop.body)
        for _ in range(opened):
            self.close_scope()
        del self.env[loop.name]

    def vectorized(self, loop: Loop) -> None:
        if loop.reduce and reduced(loop) is None:
            self.unrolled(loop)  # its rounds share elements, and more than their sum is wanted
            return
        common = self.conditions_of(loop.body).common
        kept, most = self._shape(loop)
        start, end = self._span(loop, [c for c in common if c not in kept], 0, loop.extent)
        _, stop = self._span(loop, kept, start, end)
        outer = self.vector
        vectors: list[Vector] = []
        for base in range(start, stop, most):
            whole, active = min(most, end - base), min(most, stop - base)
            width = most if whole == most else 1 << (whole - 1).bit_length()
            vectors.append(Vector(loop.name, base, width, active))
        block = reduced(loop)
        if block is not None:
            self.reduced(block, vectors)
            return
        for vector in vectors:
            if vector.width == 1:
                self.vector = outer
                self.round(loop, vector.base)
                continue
            self.vector = vector
            self.nodes(loop.body)
        self.vector = outer

    def _shape(self, loop: Loop) -> tuple[list[Within], int]:
        """Return the conditions that a vector loop keeps, and its lanes; once for each loop."""
        if id(loop) not in self._shapes:
            common = self.conditions_of(loop.body).common
            kept = [c for c in self._kept(loop) if c in common]
            self._shapes[id(loop)] = kept, self.lanes[element(loop, self.buffers)]
            self._alive.append((loop,))
        return self._shapes[id(loop)]

    def _kept(self, loop: Loop) -> list[Within]:
        """Return the conditions where they fail lanes of registers keep what they hold.

        Those registers are as wide as elsewhere; all other conditions cut the vector shorter.
        """
        return [
            condition
            for _, block in walk(loop.body)
            if block.buffer in self.promoted
            for condition in block.when
            if loop.name in condition.index.variables
        ]

    def _span(self, loop: Loop, found: list[Within], start: int, stop: int) -> tuple[int, int]:
        """Return the rounds in which conditions that are decided hold; none is (start, start)."""
        first = start
        for condition in found:
            rest = [v for v in condition.index.variables if v != loop.name]
            if loop.name in condition.index.variables and all(
                isinstance(self.env.get(v), int) for v in rest
            ):
                cut = pieces(loop.name, start, stop, [condition], self._range)
                good = [p for p in cut if self._holds(loop.name, p[0], condition)]
                if not good:
                    return first, first
                start, stop = good[0][0], good[-1][1]
        return start, max(start, stop)

    def reduced(self, block: Block, vectors: list[Vector]) -> None:
        """Reduce all lanes of some vectors to one element."""
        outer, sure = self.vector, list[Vector]()
        rest: list[Within] = []
        for vector in vectors:
            self._enter(vector)
            known = {c: self.decide(c) for c in (*block.guards, *block.when)}
            unsure = [c for c, holds in known.items() if holds is None]
            if any(vector.loop in c.index.variables for c in unsure):
                self.block(block)  # which tests each lane
            elif False not in known.values():
                rest = unsure
                sure.append(vector)
            self._leave(vector, outer)
        if sure and rest:
            self.guarded(rest, lambda: self._reduce_lanes(block, sure))
        elif sure:
            self._reduce_lanes(block, sure)

    def _reduce_lanes(self, block: Block, vectors: list[Vector]) -> None:
        assert block.reduce
        outer, parts = self.vector, list[Value]()
        for vector in vectors:
            self._enter(vector)
            value = self.spread(self.evaluate(block.value), vector.width)
            parts.append(filled(self, block.reduce, value, vector.active))
            self._leave(vector, outer)
        total = self.load(block.buffer, block.index)
        for part in combined(self, block.reduce, parts):
            one = across(self, block.reduce, part)
            total = self.apply(OPERATION[block.reduce], one, total)
        self.store(block.buffer, block.index, total)

    def _enter(self, vector: Vector) -> None:
        """Open a vector, or the only round of one that has a single lane."""
        if vector.width > 1:
            self.vector = vector
        else:
            self.env[vector.loop] = vector.base

    def _leave(self, vector: Vector, outer: Vector | None) -> None:
        self.vector = outer
        self.env.pop(vector.loop, None)

    def _holds(self, variable: str, at: int, condition: Within) -> bool:
        self.env[variable] = at
        known = self.decide(condition)
        del self.env[variable]
        return known is True

    # loops at run time -------------------------------------------------------------------------

    def conditions_of(self, nodes: tuple[Node, ...]) -> Conditions:
        if id(nodes) not in self._conditions:
            self._conditions[id(nodes)] = conditions(nodes)
            self._alive.append(nodes)
        return self._conditions[id(nodes)]

    def serial(self, loop: Loop) -> None:
        clip, peel = self.plan(loop.name, loop.body, may_clip=not loop.binds)
        for start, stop, decided in self.cut(loop, loop.extent, peel):
            if stop - start == 1 or (not decided and stop - start <= PEEL):
                for i in range(start, stop):
                    self.round(loop, i)
            else:
                self.run(loop, start, stop, clip)

    def plan(
        self, variable: str, body: tuple[Node, ...], *, may_clip: bool
    ) -> tuple[list[Within], list[Within]]:
        """Sort the open conditions on a variable: bounds of this loop, or reasons to cut it."""
        found = self.conditions_of(body)
        ranges, serial = inner_kinds(body)
        clip: list[Within] = []
        peel: list[Within] = []
        for condition in found.every:
            names = condition.index.variables
            if variable not in names:
                continue
            deeper = [n for n in names if n != variable and n in ranges]
            if self.varies(condition):
                peel.append(condition)
            elif not deeper and may_clip and condition in found.common:
                if condition.index.coefficient(variable) > 0:
                    clip.append(condition)
            elif not deeper or any(n not in serial for n in deeper):
                peel.append(condition)
        self._inner = ranges
        return clip, peel

    def cut(self, loop: Loop, extent: int, peel: list[Within]) -> list[tuple[int, int, bool]]:
        inner = dict(self._inner)

        def ranges(name: str) -> tuple[int, int]:
            return inner[name] if name in inner else self._range(name)

        return pieces(loop.name, 0, extent, peel, ranges)

    def run(self, loop: Loop, start: int, stop: int, clip: list[Within]) -> None:
        """Emit a loop; live accumulators become phis."""
        first, end = str(start), str(stop)
        for condition in clip:
            first, end = self.clipped(loop.name, condition, first, end)
        skips = not (first.isdigit() and end.isdigit())
        if not skips and int(first) >= int(end):
            return
        names = written(loop.body) & self.promoted
        carried = {slot: v for slot, v in self.registers.items() if slot[0] in names}
        body, exit_ = self.fresh_label("loop"), self.fresh_label("exit")
        if skips:
            some = self.emit(f"icmp slt i64 {first}, {end}")
            self.out.append(f"  br i1 {some}, label %{body}, label %{exit_}")
        else:
            self.out.append(f"  br label %{body}")
        origin = self.label
        self.start(body)
        phis: list[object] = []
        self.out.append(phis)
        index, following = self.fresh(), self.fresh()
        inside: dict[tuple[str, int], Value] = {}
        for slot, value in carried.items():
            inside[slot] = Value(self.fresh(), value.dtype, value.width)
        self.registers.update(inside)
        depth = self.open_scope()
        self.env[loop.name] = Dynamic(index, depth, start, stop)
        for bind in loop.binds:
            self.bind(bind)
        fresh = set(clip) - self.assumed
        self.assumed |= fresh
        self.nodes(loop.body)
        self.assumed -= fresh
        del self.env[loop.name]
        for _ in loop.binds:
            self.close_scope()
        self.close_scope()
        self.out.append(f"  {following} = add nuw nsw i64 {index}, 1")
        more = self.emit(f"icmp slt i64 {following}, {end}")
        last = self.label
        self.out.append(f"  br i1 {more}, label %{body}, label %{exit_}")
        phis.append(f"  {index} = phi i64 [ {first}, %{origin} ], [ {following}, %{last} ]")
        self.start(exit_)
        stale: set[tuple[str, int]] = set()
        for slot, value in carried.items():
            new, result = inside[slot], self.registers.get(slot)
            if result is None or result.type != new.type:
                # Left over from a tile of another shape, and written anew before it is read.
                stale.add(slot)
                phis.append(
                    f"  {new.name} = phi {new.type} [ {value.name}, %{origin} ], "
                    f"[ poison, %{last} ]"
                )
                continue
            phis.append(
                f"  {new.name} = phi {new.type} [ {value.name}, %{origin} ], "
                f"[ {result.name}, %{last} ]"
            )
            if skips:
                name = self.emit(
                    f"phi {new.type} [ {value.name}, %{origin} ], [ {result.name}, %{last} ]"
                )
                self.registers[slot] = Value(name, value.dtype, value.width)
        if skips:  # tiles first written inside may not have been written at all
            self.registers = {
                s: v
                for s, v in self.registers.items()
                if (s in carried and s not in stale) or s[0] not in names
            }

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

    def bind(self, bind: Bind) -> None:
        """Compute a variable of a fused loop."""
        value = self.integer(bind.index)
        if bind.divisor > 1:
            value = self.emit(f"udiv i64 {value}, {bind.divisor}")
        value = self.emit(f"urem i64 {value}, {bind.modulus}")
        depth = self.open_scope()
        self.env[bind.name] = Dynamic(value, depth, 0, bind.modulus)

    # parallel loops ----------------------------------------------------------------------------

    def tasks(self, loop: Loop) -> int:
        return int(product(tuple(p.extent for p in chain_of_parallel(loop)[0])))

    def parallel(self, loop: Loop) -> None:
        """Emit the rounds `%lo` to `%hi` of directly nested parallel loops, counted as one."""
        chain, body = chain_of_parallel(loop)
        head, exit_ = self.fresh_label("task"), self.fresh_label("done")
        some = self.emit("icmp slt i64 %lo, %hi")
        self.out.append(f"  br i1 {some}, label %{head}, label %{exit_}")
        origin = self.label
        self.start(head)
        phi: list[object] = []
        self.out.append(phi)
        task, following = self.fresh(), self.fresh()
        opened = 0
        count = int(product(tuple(p.extent for p in chain)))
        names: list[tuple[str, int]] = []
        for p in chain:
            count //= p.extent
            value = self.emit(f"udiv i64 {task}, {count}") if count > 1 else task
            if p is not chain[0]:
                value = self.emit(f"urem i64 {value}, {p.extent}")
            self.env[p.name] = Dynamic(value, self.open_scope(), 0, p.extent)
            names.append((p.name, p.extent))
            opened += 1
            for bind in p.binds:
                self.bind(bind)
                names.append((bind.name, bind.modulus))
                opened += 1
        self.dispatch(names, body)
        for _ in range(opened):
            self.close_scope()
        self.out.append(f"  {following} = add nuw nsw i64 {task}, 1")
        more = self.emit(f"icmp slt i64 {following}, %hi")
        phi.append(f"  {task} = phi i64 [ %lo, %{origin} ], [ {following}, %{self.label} ]")
        self.out.append(f"  br i1 {more}, label %{head}, label %{exit_}")
        self.start(exit_)

    def dispatch(self, names: list[tuple[str, int]], body: tuple[Node, ...]) -> None:
        """Emit the body once for each piece of a parallel variable's range, chosen by a branch."""
        if not names:
            self.nodes(body)
            self.registers = {}
            return
        (name, extent), *rest = names
        _, peel = self.plan(name, body, may_clip=False)
        inner = dict(self._inner)
        inner.update({n: (0, e - 1) for n, e in rest})

        def ranges(variable: str) -> tuple[int, int]:
            return inner[variable] if variable in inner else self._range(variable)

        bound = self.env[name]
        assert isinstance(bound, Dynamic)
        cut = pieces(name, 0, extent, peel, ranges)
        done = self.fresh_label("joined")
        for start, stop, _ in cut:
            self.env[name] = Dynamic(bound.name, bound.depth, start, stop)
            if stop - start == 1:
                self.env[name] = start
            if stop == extent:
                self.dispatch(rest, body)
                continue
            here, after = self.fresh_label("piece"), self.fresh_label("next")
            test = self.emit(f"icmp slt i64 {bound.name}, {stop}")
            self.out.append(f"  br i1 {test}, label %{here}, label %{after}")
            self.start(here)
            self.dispatch(rest, body)
            self.out.append(f"  br label %{done}")
            self.start(after)
        self.env[name] = bound
        self.out.append(f"  br label %{done}")
        self.start(done)
