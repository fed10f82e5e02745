"""What this machine's CPU has as Linux tells it, for which LLVM need not be loaded."""

from __future__ import annotations

import platform
import sys
from functools import cache

from tilewright.target import IMPLIED, Target

# LLVM's names of features that Linux knows by another, apart from dots and underscores.
_LINUX = {
    "64bit": "lm", "bmi": "bmi1", "crc32": "sse42", "lzcnt": "abm", "pclmul": "pclmulqdq",
    "prfchw": "3dnowprefetch", "rdrnd": "rdrand", "sahf": "lahflm", "sha": "shani", "sse3": "pni",
}  # fmt: skip
_WIDTHS = {16: "sse2", 32: "avx2", 64: "avx512f"}
# Linux hides these from programs where it does not use or trust them; no loop has any.
_HIDDEN = ("rdseed", "shstk")


def surely_runs(target: Target) -> bool:
    """Return whether code for `target` runs here, as far as Linux tells; False may be wrong."""
    if sys.platform != "linux" or {target.architecture, platform.machine()} != {"x86_64"}:
        return False
    wanted = {f[1:] for f in target.features if f[0] == "+"} - set(_HIDDEN)
    wanted |= {*IMPLIED.get(target.cpu, ()), _WIDTHS[target.vector_bytes]}
    return {_LINUX.get(name, _plain(name)) for name in wanted} <= _flags()


@cache
def _flags() -> frozenset[str]:
    try:
        with open("/proc/cpuinfo") as file:
            flags = next((line for line in file if line.startswith("flags")), "")
    except OSError:
        flags = ""
    return frozenset(map(_plain, flags.partition(":")[2].split()))


def _plain(name: str) -> str:
    return name.translate({ord(c): None for c in "._-"})
