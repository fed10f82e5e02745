"""A loop nest as text, the way one would write it on a board."""

from __future__ import annotations

from tilewright.expr.affine import text
from tilewright.loops.nodes import Block, Buffer, Loop, Nest, Node

_UPDATE = {"sum": "+=", "prod": "*=", "max": "max=", "min": "min="}


def show(nest: Nest) -> str:
    """Print the buffers that are not arguments, then the loops, indented."""
    lines = [_buffer(b) for b in nest.buffers if b.scope in ("workspace", "local", "register")]
    lines += [_buffer(b) for b in nest.buffers if b.source]
    lines += [f"prefetch {b.name} {b.prefetch} bytes ahead" for b in nest.buffers if b.prefetch]
    for node in nest.body:
        _node(node, 0, lines)
    return "\n".join(lines)


def _buffer(buffer: Buffer) -> str:
    shape = ", ".join(text(n) for n in buffer.shape)
    how = f"{buffer.made.name} of" if buffer.made else "packed"
    packed = f" = {how} {buffer.source}" if buffer.source else ""
    return f"{buffer.scope} {buffer.name}[{shape}]: {buffer.dtype}{packed}"


def _node(node: Node, depth: int, lines: list[str]) -> None:
    pad = "  " * depth
    if isinstance(node, Loop):
        kind = "" if node.kind == "serial" else f"{node.intrinsic or node.kind} "
        lines.append(f"{pad}{kind}for {node.name} in {text(node.extent)}:")
        for bind in node.binds:
            lines.append(f"{pad}  {bind.name} = ({bind.index}) // {bind.divisor} % {bind.modulus}")
        for child in node.body:
            _node(child, depth + 1, lines)
        return
    lines.append(pad + _block(node))


def _block(block: Block) -> str:
    conditions = (*block.guards, *block.when)
    where = f"if {' and '.join(map(str, conditions))}: " if conditions else ""
    index = f"[{', '.join(map(str, block.index))}]" if block.index else ""
    sign = _UPDATE[block.reduce] if block.reduce else "="
    return f"{where}{block.buffer}{index} {sign} {block.value}"
