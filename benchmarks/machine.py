"""What machine a benchmark ran on, in one line, and how its processes are pinned."""

from __future__ import annotations

import datetime
import os
import platform

import tilewright as tw
from tilewright.measure.peak import peak


def facts() -> str:
    """Return date, CPU, cores, caches, Python, and the measured limit on one and two threads."""
    host = tw.host()
    caches = "/".join(f"{size >> 10}K" for size in host.caches)
    limits = ", ".join(f"{peak(threads=t) / 1e9:.0f} on {t}" for t in (1, 2) if t <= host.cores)
    return (
        f"{datetime.date.today()}, {host.name}, {host.cores} cores, vectors of "
        f"{host.vector_bytes * 8} bits, caches {caches}, {platform.system()}, Python "
        f"{platform.python_version()}; FMA peak GFLOP/s by threads: {limits}"
    )


def pin(threads: int) -> None:
    """Keep this process on the last `threads` cores."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[-threads:])
