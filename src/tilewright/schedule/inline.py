"""inline: a stage is computed where it is used, and stored nowhere."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.expr.affine import Affine
from tilewright.expr.parts import excess, loads, rebuild, substitute
from tilewright.expr.scalar import Load, Scalar
from tilewright.loops.nodes import Block, Loop, Nest, Node, rewrite
from tilewright.schedule import find


@dataclass(frozen=True, slots=True)
class Inline:
    """Replace every load of `stage` by its value there, and drop the stage.

    >>> from tilewright import Schedule, compute, tensor
    >>> a = tensor("A", (4,))
    >>> b = compute("B", (4,), lambda x: a[x] + 1.0)
    >>> print(Schedule(compute("C", (4,), lambda x: b[x] * 2.0)).inline("B").loops)
    for C:x in 4:
      C[C:x] = ((A[C:x] + 1.0) * 2.0)
    """

    stage: str

    def apply(self, nest: Nest) -> Nest:
        asked = f"inline {self.stage!r}"
        outer, block = find.stage(nest, self.stage, asked)
        if block.reduce:
            find.refuse(nest, asked, "it reduces, so it is no expression; use compute_at.")
        if nest.by_name[block.buffer].scope == "output":
            find.refuse(nest, asked, "it is the output.")
        kept = [x.buffer for x in loads(block.value) if nest.by_name[x.buffer].scope == "local"]
        if kept:
            find.refuse(nest, asked, f"{kept[0]!r}, which it reads, is kept in its loops only.")
        if find.gathered(nest, block.buffer):
            find.refuse(nest, asked, "it is read at an index that is data, so keep it whole.")
        axes = [i.variables[0] if _is_variable(i) else "" for i in block.index]
        if "" in axes or block.guards:
            find.refuse(nest, asked, "its loops are already split; inline it first.")

        def use(part: Scalar) -> Scalar:
            if not isinstance(part, Load) or part.buffer != block.buffer:
                return part
            return substitute(block.value, dict(zip(axes, part.index, strict=True)))

        def change(node: Node) -> Node | tuple[Node, ...]:
            if isinstance(node, Block):
                if node.stage == self.stage:
                    return ()
                if all(x.buffer != block.buffer for x in loads(node.value)):
                    return node
                made = rebuild(node.value, use)
                if reason := excess(made):
                    find.refuse(nest, asked, f"{node.stage!r} reads it, and with it {reason}.")
                return replace(node, value=made)
            return node if node.body else ()

        assert all(isinstance(loop, Loop) for loop in outer)
        rest = tuple(b for b in nest.buffers if b.name != block.buffer)
        return replace(nest, buffers=rest, body=rewrite(nest.body, change))


def _is_variable(index: Affine) -> bool:
    return index.constant == 0 and len(index.terms) == 1 and index.terms[0][1] == 1
