"""A machine as data: what code generation and spaces need to know about it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cache

from tilewright.errors import TargetError

# Triples, vector bytes and registers of the levels that can be asked for by name.
_LEVELS = {
    "x86-64": ("x86-64", 16, 16),
    "x86-64-v2": ("x86-64-v2", 16, 16),
    "x86-64-v3": ("x86-64-v3", 32, 16),
    "x86-64-v4": ("x86-64-v4", 64, 32),
}


@dataclass(frozen=True)
class Target:
    """A machine that code is generated for.

    `vector_bytes` is the width of a vector register, `registers` their number, `caches` the sizes
    of the data caches in bytes, nearest first. `Target("x86-64-v3")` fills the rest by name.
    """

    name: str
    triple: str = ""
    cpu: str = ""
    features: tuple[str, ...] = ()
    cores: int = 1
    vector_bytes: int = 0
    registers: int = 0
    caches: tuple[int, ...] = field(default=(32 << 10, 1 << 20))

    def __post_init__(self) -> None:
        if self.triple and self.cpu and self.vector_bytes and self.registers:
            return
        if self.name not in _LEVELS:
            raise TargetError(
                f"unknown target {self.name!r}; name one of {', '.join(_LEVELS)}, use host(), or "
                "give triple, cpu, vector_bytes and registers."
            )
        cpu, width, registers = _LEVELS[self.name]
        object.__setattr__(self, "triple", self.triple or "x86_64-unknown-linux-gnu")
        object.__setattr__(self, "cpu", self.cpu or cpu)
        object.__setattr__(self, "vector_bytes", self.vector_bytes or width)
        object.__setattr__(self, "registers", self.registers or registers)

    def lanes(self, dtype_bytes: int) -> int:
        """Return how many elements of `dtype_bytes` bytes a vector register holds."""
        return max(1, self.vector_bytes // dtype_bytes)

    @property
    def key(self) -> str:
        """A short text that two targets share exactly when code for one is code for the other."""
        # Not the cores: a process that is pinned to one of them has the same records.
        return f"{self.cpu}/{self.vector_bytes * 8}b"


@cache
def host() -> Target:
    """Describe the machine that runs this process: its CPU, vector width, caches and cores."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    name = llvm.get_host_cpu_name()
    triple = llvm.get_process_triple()
    if features.get("avx512f"):
        width, registers = 64, 32
    elif features.get("avx2"):
        width, registers = 32, 16
    else:
        width, registers = 16, 32 if triple.startswith("aarch64") else 16
    return Target(
        name,
        triple=triple,
        cpu=name,
        features=tuple(features.flatten().split(",")),
        cores=len(os.sched_getaffinity(0)),
        vector_bytes=width,
        registers=registers,
        caches=_caches(),
    )


def _caches() -> tuple[int, ...]:
    """Read the data caches of the first core from Linux, nearest first; a guess elsewhere."""
    root = "/sys/devices/system/cpu/cpu0/cache"
    found: list[int] = []
    try:
        for entry in sorted(os.listdir(root)):
            with open(f"{root}/{entry}/type") as kind, open(f"{root}/{entry}/size") as size:
                if kind.read().strip() in ("Data", "Unified"):
                    text = size.read().strip()
                    found.append(int(text[:-1]) << {"K": 10, "M": 20}[text[-1]])
    except (OSError, KeyError, ValueError):
        return (32 << 10, 1 << 20)
    return tuple(found) or (32 << 10, 1 << 20)
