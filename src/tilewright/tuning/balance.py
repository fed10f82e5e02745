"""How evenly threads share a nest: what a schedule measured on one thread is worth on several."""

from __future__ import annotations

from tilewright import dtypes
from tilewright.codegen.llvm.regions import chain_of_parallel
from tilewright.loops.nodes import Block, Nest, Node, product, walk


def imbalance(nest: Nest, threads: int) -> float:
    """Return how many times longer `threads` threads take than with an even share; 1 is best.

    Each top loop is shared by its parallel rounds; what has none runs on one thread.
    """
    total = longest = 0.0
    for node in nest.body:
        rounds = _rounds(node)
        tasks = _tasks(node)
        total += rounds
        longest += rounds / tasks * -(-tasks // threads)
    return longest * threads / total if total else 1.0


def exchanged(nest: Nest, threads: int) -> float:
    """Return how many bytes threads read in a layer that others have written, about.

    Threads that share a result by its rows find most of what they read where they wrote it in the
    layer before, in their own cache; others take their part of it from each other. So they do with
    what one loop leaves in memory for the next.
    """
    own = by_rows(nest)
    held = [b for b in nest.buffers if b.scope == "workspace" or (b.scope == "input" and not own)]
    total = sum(float(product(b.shape)) * dtypes.nbytes(b.dtype) for b in held)
    return total * (1 - 1 / threads)


def by_rows(nest: Nest) -> bool:
    """Whether threads share the result by its rows, and not by parts of each row."""
    outer, block = list(walk(nest.body))[-1]
    shared = [loop.name for loop in outer if loop.kind == "parallel" and loop.extent > 1]
    return bool(shared) and any(shared[0] in index.variables for index in block.index[:-1])


def _rounds(node: Node) -> float:
    return float(sum(product(tuple(loop.extent for loop in outer)) for outer, _ in walk((node,))))


def _tasks(node: Node) -> int:
    if isinstance(node, Block) or node.kind != "parallel":
        return 1
    return int(product(tuple(loop.extent for loop in chain_of_parallel(node)[0])))
