"""Parallel loops as LLVM text: a range of rounds of directly nested ones, counted as one loop."""

from __future__ import annotations

from tilewright.codegen.llvm.builder import Dynamic
from tilewright.codegen.llvm.control import Control
from tilewright.codegen.llvm.regions import chain_of_parallel, pieces
from tilewright.loops.nodes import Loop, Node, product


class Parallel(Control):
    """Emits what one thread does of parallel loops, the rounds `%lo` to `%hi` of a function."""

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
