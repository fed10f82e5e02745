"""Which parallel loops threads share: those at the top, and those that are all of a shared one.

Any other would run from its first round to its last on one thread, and nobody would be told. So a
step is refused that would leave one: it is no error in the result, but not what was asked for.
"""

from __future__ import annotations

from operator import attrgetter

from tilewright.loops.nodes import Block, Loop, Nest, Node

_KIND = attrgetter("kind")


def barrier(outer: Loop) -> str:
    """Say why a parallel loop in `outer` would run on one thread; empty if it would be shared."""
    if outer.kind != "parallel":
        return f"it is inside {outer.name!r}, which is not a parallel loop too"
    if len(outer.body) > 1:
        return f"it is inside {outer.name!r}, which holds more than this loop"
    if outer.binds:
        return f"it is inside {outer.name!r}, which is fused; fuse it too instead"
    return ""


def unshared(nest: Nest, before: Nest) -> str:
    """Say which parallel loop would run on one thread, and why; empty if there is none.

    What a step left as it was `before` is not looked at again.
    """
    old = {id(node) for node in before.body}
    found = _unshared(tuple(n for n in nest.body if id(n) not in old and not _is_shared(n)))
    if not found:
        return ""
    loop, reason = found
    return (
        f"no threads would share the parallel loop {loop!r} any more: {reason}. "
        "Mark loops parallel after this step, the outermost first."
    )


def _is_shared(node: Node) -> bool:
    """Whether all parallel loops in a node, if any, are those at its top."""
    if isinstance(node, Block):
        return True
    left = [*map(_KIND, (node, *node.inside.values()))].count("parallel")
    while left and isinstance(node, Loop) and node.kind == "parallel":
        left -= 1
        if barrier(node):
            break
        node = node.body[0]
    return not left


def _unshared(nodes: tuple[Node, ...], outer: tuple[Loop, ...] = ()) -> tuple[str, str] | None:
    for node in nodes:
        if not isinstance(node, Loop):
            continue
        if node.kind == "parallel" and (reason := next(filter(None, map(barrier, outer)), "")):
            return node.name, reason
        inner = _unshared(node.body, (*outer, node))
        if inner:
            return inner
    return None
