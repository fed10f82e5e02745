"""A machine as data: what code generation and spaces need to know about it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, NoReturn

from tilewright.errors import TargetError


class Level(NamedTuple):
    """What the name of a level stands for."""

    triple: str
    cpu: str
    vector_bytes: int
    registers: int


_X86, _ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
# The levels that can be asked for by name.
LEVELS = {
    "x86-64": Level(_X86, "x86-64", 16, 16),
    "x86-64-v2": Level(_X86, "x86-64-v2", 16, 16),
    "x86-64-v3": Level(_X86, "x86-64-v3", 32, 16),
    "x86-64-v4": Level(_X86, "x86-64-v4", 64, 32),
    "aarch64": Level(_ARM, "generic", 16, 32),
    "neoverse-n1": Level(_ARM, "neoverse-n1", 16, 32),
}

_V2 = ("sse3", "ssse3", "sse4.1", "sse4.2", "popcnt")
_V3 = (*_V2, "avx", "avx2", "f16c", "fma", "bmi", "bmi2")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
# What a CPU, or all of an architecture, has without saying so in its features.
IMPLIED = {
    "x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4,
    "aarch64": ("neon",), "neoverse-n1": ("fullfp16", "dotprod"),
}  # fmt: skip

VECTOR_BYTES = (16, 32, 64)  # the registers that LLVM's targets have


# What a kernel may call of OpenMP's runtime.
CALLS = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")


@dataclass(frozen=True)
class Target:
    """A machine that code is generated for.

    `vector_bytes` is the width of a vector register, `registers` their number, `caches` the sizes
    of the data caches in bytes, nearest first. `Target("x86-64-v3")` fills the rest by name; so do
    "x86-64" (SSE2), "x86-64-v2" (SSE4.2), "x86-64-v4" (AVX-512), "aarch64" (NEON) and "neoverse-n1"
    (NEON with products of bytes). Code for AArch64 was run in an emulator alone.
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
        if not (self.triple and self.cpu and self.vector_bytes and self.registers):
            self._fill()
        _check(self)

    def _fill(self) -> None:
        if not isinstance(self.name, str) or self.name not in LEVELS:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TargetError(
                f"unknown target {self.name!r}; name one of {', '.join(LEVELS)}, use host(), or "
                "give triple, cpu, vector_bytes and registers."
            )
        for field_name, value in LEVELS[self.name]._asdict().items():
            object.__setattr__(self, field_name, getattr(self, field_name) or value)

    def __repr__(self) -> str:
        if self.name in LEVELS and self == Target(self.name):
            return f"Target({self.name!r})"
        return (
            f"Target({self.name}: {self.cpu} of {self.architecture}, {self.vector_bytes * 8}-bit "
            f"vectors, {self.registers} registers, {self.cores} core{'s' * (self.cores != 1)}, "
            f"{len(self.features)} features)"
        )

    def lanes(self, dtype_bytes: int) -> int:
        """Return how many elements of `dtype_bytes` bytes a vector register holds."""
        return max(1, self.vector_bytes // dtype_bytes)

    def has(self, feature: str) -> bool:
        """Return whether the CPU is known to have a feature of LLVM's name, such as avx512vnni.

        >>> Target("x86-64-v3").has("f16c"), Target("x86-64-v3", features=("-f16c",)).has("f16c")
        (True, False)
        """
        for said in reversed(self.features):
            if said[1:] == feature:
                return said[0] == "+"
        return any(feature in IMPLIED.get(of, ()) for of in (self.cpu, self.architecture))

    @property
    def architecture(self) -> str:
        """The first part of the triple, such as x86_64 or aarch64."""
        return self.triple.split("-")[0]

    @property
    def key(self) -> str:
        """A short text that two targets share exactly when code for one is code for the other."""
        # Not the cores: a process that is pinned to one of them has the same records.
        cpu = self.architecture if self.cpu == "generic" else self.cpu
        return f"{cpu}/{self.vector_bytes * 8}b"


def target_of(given: Target | str | None) -> Target:
    """Return a target that may be given by name, this machine for None; else raise TargetError.

    >>> target_of("x86-64-v3")
    Target('x86-64-v3')
    """
    if given is None:
        return host()
    if isinstance(given, str):
        return Target(given)
    if not isinstance(given, Target):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TargetError(
            f"{given!r:.80} is no target: give a Target, its name such as 'x86-64-v3', or nothing "
            "for this machine."
        )
    return given


def _check(target: Target) -> None:
    """Refuse values that no machine has; whether LLVM knows the CPU is asked when it compiles."""
    positive = (target.cores, target.vector_bytes, target.registers)
    texts = (target.name, target.triple, target.cpu)
    features: Any = target.features
    caches: Any = target.caches
    if not all(isinstance(text, str) for text in texts):  # pyright: ignore[reportUnnecessaryIsInstance]
        _refuse(f"name, triple and cpu {texts!r}", "they are texts")
    if not isinstance(features, tuple) or not all(_is_feature(f) for f in features):  # pyright: ignore[reportUnknownVariableType]
        _refuse(f"features {features!r}", "they are a tuple of LLVM's names, each after + or -, "
                "as in ('+avx2', '-fma')")  # fmt: skip
    if not all(_is_whole(number) and number >= 1 for number in positive):
        _refuse(f"cores, vector_bytes, registers {positive!r}", "they are whole numbers from 1")
    if target.vector_bytes not in VECTOR_BYTES:
        _refuse(f"vector_bytes {target.vector_bytes}", f"it is one of {VECTOR_BYTES}")
    if not isinstance(caches, tuple) or not all(_is_whole(c) and c > 0 for c in caches):  # pyright: ignore[reportUnknownVariableType]
        _refuse(f"caches {caches!r}", "they are a tuple of sizes in bytes, nearest first, each at "
                "least 1")  # fmt: skip


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_feature(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[+-][\w.-]+", value) is not None


def _refuse(what: str, wanted: str) -> NoReturn:
    raise TargetError(f"cannot describe a machine by {what}: {wanted}.")


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
