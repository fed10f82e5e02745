"""Random schedule steps whose arguments suit each other, so that many are legal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tilewright.expr.parts import loads
from tilewright.loops.nodes import Block, Loop, loops, walk
from tilewright.schedule.schedule import Schedule

if TYPE_CHECKING:
    from tilewright.testing.programs import Pick

KINDS = (
    "split", "reorder", "vectorize", "cache_write", "compute_at", "fuse_at", "inline", "parallel",
    "unroll", "fuse", "pack", "cache_read", "pad", "split", "split", "reorder", "vectorize",
    "compute_at", "prefetch", "rfactor", "rfactor",
)  # fmt: skip
FACTORS = (2, 3, 4, 5, 8, 16, 1)


def step(pick: Pick, s: Schedule) -> Schedule:
    """Apply one random step; raise ScheduleError if it is illegal."""
    paths = list(walk(s.loops.body))
    outer, block = pick(paths)
    around = [loop.name for loop in outer] or ["none"]
    kind = pick(KINDS)
    match kind:
        case "split":
            loop = pick(outer) if outer else None
            inner = [pick(FACTORS) for _ in range(pick((1, 2)))]
            extent = int(loop.extent) if loop else 1
            factors = (max(1, -(-extent // math.prod(inner))), *inner)
            return s.split(loop.name if loop else "none", factors)
        case "reorder":
            return s.reorder(*dict.fromkeys(pick(around) for _ in range(pick((2, 3, 4)))))
        case "fuse":
            return s.fuse(*pick(_nested(s) or [("none", "none")]))
        case "pad":
            return s.pad(pick(around), pick((2, 4, 8, 3)))
        case "pack":
            return s.pack(pick(_read(block) or [block.buffer]))
        case "cache_read":
            return s.cache_read(pick(_read(block) or [block.buffer]), pick(around))
        case "prefetch":
            return s.prefetch(pick(_read(block) or [block.buffer]), pick((64, 4096)))
        case "compute_at":
            return s.compute_at(pick(_read(block) or [block.stage]), pick(around))
        case "fuse_at":
            made = [_around(paths, name) for name in _read(block)]
            places = [name for found in made for name in found]
            return s.fuse_at(block.stage, pick(places or ["none"]))
        case "cache_write":
            return s.cache_write(block.stage, pick(around))
        case "rfactor":
            reduce = [loop.name for loop in outer if loop.reduce]
            return s.rfactor(block.stage, pick(reduce or around))
        case "inline":
            return s.inline(pick(_read(block) or [block.stage]))
        case _:
            deep = around[-pick((1, 2, 3)) :] if kind != "parallel" else around[:2]
            return getattr(s, kind)(pick(deep))


def _read(block: Block) -> list[str]:
    return list(dict.fromkeys(load.buffer for load in loads(block.value)))


def _around(paths: list[tuple[tuple[Loop, ...], Block]], buffer: str) -> list[str]:
    return [loop.name for outer, block in paths if block.buffer == buffer for loop in outer]


def _nested(s: Schedule) -> list[tuple[str, str]]:
    """Return the pairs of loops of which one holds nothing but the other."""
    return [
        (outer.name, inner.name)
        for outer in loops(s.loops.body)
        for inner in outer.body
        if len(outer.body) == 1 and isinstance(inner, Loop)
    ]
