"""Which parallel loops threads share: those at the top, and those that are all of a shared one.

Any other would run from its first round to its last on one thread, and nobody would be told. So a
step is refused that would leave one: it is no error in the result, but not what was asked for.
"""

from __future__ import annotations

from tilewright.loops.nodes import Loop, Nest, Node


def barrier(outer: Loop) -> str:
    """Say why a parallel loop in `outer` would run on one thread; empty if it would be shared."""
    if outer.kind != "parallel":
        return f"it is inside {outer.name!r}, which is not a parallel loop too"
    if len(outer.body) > 1:
        return f"it is inside {outer.name!r}, which holds more than this loop"
    if outer.binds:
        return f"it is inside {outer.name!r}, which is fused; fuse it too instead"
    return ""


def unshared(nest: Nest) -> str:
    """Say which parallel loop would run on one thread, and why; empty if there is none."""
    found = _unshared(nest.body)
    if not found:
        return ""
    loop, reason = found
    return (
        f"no threads would share the parallel loop {loop!r} any more: {reason}. "
        "Mark loops parallel after this step, the outermost first."
    )


def _unshared(nodes: tuple[Node, ...], outer: tuple[Loop, ...] = ()) -> tuple[str, str] | None:
    for node in nodes:
        if not isinstance(node, Loop):
            continue
        reasons = [barrier(each) for each in outer] if node.kind == "parallel" else []
        if any(reasons):
            return node.name, next(filter(None, reasons))
        inner = _unshared(node.body, (*outer, node))
        if inner:
            return inner
    return None
