"""Loops as LLVM text: accumulators are phis, borders are specialised."""

from __future__ import annotations

from functools import partial

from tilewright.codegen.llvm.bounds import Bounds
from tilewright.codegen.llvm.builder import Dynamic, Entry, Value
from tilewright.codegen.llvm.intrinsics import tensorized
from tilewright.codegen.llvm.lanes import OPERATION, across, combined, filled, reduced
from tilewright.codegen.llvm.memory import Vector
from tilewright.codegen.llvm.promote import element
from tilewright.codegen.llvm.questions import Questions, questions
from tilewright.codegen.llvm.regions import (
    PEEL,
    Conditions,
    conditions,
    inner_kinds,
    pieces,
    written,
)
from tilewright.codegen.llvm.vectors import Shape, vectors
from tilewright.expr.scalar import Table, Within
from tilewright.loops.nodes import Bind, Block, Buffer, Loop, Node, variables, walk
from tilewright.target import Target


class Control(Bounds):
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
        self._shapes: dict[int, Shape] = {}
        self._questions: dict[int, Questions] = {}
        self._alive: list[tuple[Node, ...]] = []  # keeps ids valid

    def nodes(self, nodes: tuple[Node, ...], parent: Loop | None = None) -> None:
        """Emit what lies directly inside of a loop; conditions on all of a loop are tested once."""
        for node in nodes:
            if isinstance(node, Block):
                self.block(node)
                continue
            ask = self.questions_of(node, parent)
            if ask.tables and self.adds_nothing(ask.tables):
                continue
            known = [self.decide(c) for c in ask.conditions]
            open_conditions = [
                condition
                for condition, holds in zip(ask.conditions, known, strict=True)
                if holds is None and not self.varies(condition)
            ]
            if open_conditions:
                self.assumed.update(open_conditions)
                self.guarded(open_conditions, partial(self.loop, node))
                self.assumed.difference_update(open_conditions)
            elif False not in known:
                self.loop(node)

    def loop(self, loop: Loop) -> None:
        if loop.intrinsic:
            tensorized(self, loop)
        elif loop.kind == "unroll" or loop.extent == 1:
            self.unrolled(loop)
        elif loop.kind == "vectorize":
            self.vectorized(loop)
        else:
            self.serial(loop)

    def questions_of(self, loop: Loop, parent: Loop | None) -> Questions:
        if id(loop) not in self._questions:
            above = self.conditions_of(parent.body).common if parent else ()
            common = self.conditions_of(loop.body).common
            self._questions[id(loop)] = questions(loop, parent, common, above)
            self._alive.append((loop,))
        return self._questions[id(loop)]

    def adds_nothing(self, tables: tuple[tuple[Table, ...], ...]) -> bool:
        """Whether each term is a product with a number of a table that is zero here."""
        for choice in tables:
            for table in choice:
                if self.number(table) == 0.0:
                    break
            else:
                return False
        return True

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
        self.nodes(loop.body, loop)
        for _ in range(opened):
            self.close_scope()
        self.forget(loop)

    def vectorized(self, loop: Loop) -> None:
        shape, outer = self._shape(loop), self.vector
        if loop.reduce and shape.block is None:
            self.unrolled(loop)  # its rounds share elements, and more than their sum is wanted
            return
        parts = shape.whole
        if shape.kept or shape.others:
            start, end = self._span(loop, shape.others, 0, loop.extent)
            stop = self._span(loop, shape.kept, start, end)[1]
            parts = vectors(loop, shape.lanes, start, stop, end)
        if shape.block is not None:
            self.reduced(shape.block, parts)
            return
        for vector in parts:
            if vector.width == 1:
                self.vector = outer
                self.round(loop, vector.base)
                continue
            self.vector = vector
            self.nodes(loop.body, loop)
        self.vector = outer

    def _shape(self, loop: Loop) -> Shape:
        """Return the conditions on a vector loop, and its lanes; once for each loop."""
        if id(loop) not in self._shapes:
            every = self.conditions_of(loop.body).common
            common = [c for c in every if loop.name in c.index.variables]
            kept = [c for c in self._kept(loop) if c in common]
            others = [c for c in common if c not in kept]
            lanes = self.lanes[element(loop, self.buffers)]
            whole = vectors(loop, lanes, 0, loop.extent, loop.extent)
            self._shapes[id(loop)] = Shape(kept, others, lanes, whole, reduced(loop))
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
        self.stage = block.stage
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
        entry = Entry(dict(self.env), written(loop.body))
        names = entry.written & self.promoted
        carried = {slot: v for slot, v in self.registers.items() if slot[0] in names}
        body, exit_ = self.fresh_label("loop"), self.fresh_label("exit")
        self.out.append(entry.lines)
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
        inside = {s: Value(self.fresh(), v.dtype, v.width) for s, v in carried.items()}
        self.registers.update(inside)
        depth = self.open_scope()
        self.env[loop.name] = Dynamic(index, depth, start, stop)
        self.entries.append(entry)
        self.body(loop, clip)
        self.entries.pop()
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
                result = None
            merged = (
                f"phi {new.type} [ {value.name}, %{origin} ], "
                f"[ {result.name if result else 'poison'}, %{last} ]"
            )
            phis.append(f"  {new.name} = {merged}")
            if skips and result:
                self.registers[slot] = Value(self.emit(merged), value.dtype, value.width)
        if skips:  # tiles first written inside may not have been written at all
            self.registers = {
                s: v
                for s, v in self.registers.items()
                if (s in carried and s not in stale) or s[0] not in names
            }

    def body(self, loop: Loop, known: list[Within]) -> None:
        """Emit the body of a loop at run time, in which conditions hold that bound the loop."""
        fresh = set(known) - self.assumed
        for bind in loop.binds:
            self.bind(bind)
        self.assumed |= fresh
        self.nodes(loop.body, loop)
        self.assumed -= fresh
        self.forget(loop)
        for _ in loop.binds:
            self.close_scope()

    def forget(self, loop: Loop) -> None:
        """Take what a loop defines out of the environment: it means nothing outside."""
        for name in variables(loop):
            del self.env[name]

    def bind(self, bind: Bind) -> None:
        """Compute a variable of a fused loop."""
        value = self.integer(bind.index)
        if bind.divisor > 1:
            value = self.emit(f"udiv i64 {value}, {bind.divisor}")
        value = self.emit(f"urem i64 {value}, {bind.modulus}")
        depth = self.open_scope()
        self.env[bind.name] = Dynamic(value, depth, 0, bind.modulus)
