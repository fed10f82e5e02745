"""prefetch: ask the cache for what will be read soon."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.loops.nodes import Nest
from tilewright.schedule import find


@dataclass(frozen=True, slots=True)
class Prefetch:
    """Let each vector load of `tensor` also ask for the line `distance` bytes further on.

    If several stages read it, the last of them alone asks. It helps where a large operand is read
    once from front to back, as packed weights are; it never changes a result.

    >>> from tilewright import Schedule, compute, tensor
    >>> a = tensor("A", (64,))
    >>> s = Schedule(compute("B", (64,), lambda x: a[x] + 1.0)).vectorize("x")
    >>> print(s.prefetch("A", 1024).loops)
    prefetch A 1024 bytes ahead
    vectorize for x in 64:
      B[x] = (A[x] + 1.0)
    """

    tensor: str
    distance: int

    def apply(self, nest: Nest) -> Nest:
        asked = f"prefetch {self.tensor!r} {self.distance} bytes ahead"
        buffer = find.buffer(nest, self.tensor, asked)
        if self.distance < 1 or buffer.scope in ("local", "register"):
            find.refuse(nest, asked, "the distance must be positive and the tensor in memory.")
        changed = replace(buffer, prefetch=self.distance)
        return replace(nest, buffers=tuple(changed if b is buffer else b for b in nest.buffers))
