"""What a user would run instead: the same work, prepared in other libraries' best form.

A peer is a module with `NAME`, `SETTINGS` (a sentence), `versions()`, `convolution(work, threads)`,
`matmul(work, threads)`, `rows(work, threads)` and `network(path, threads, *data)`. The last four
return subjects, one for each variant of the peer; `convolution(..., layouts=True)` adds those whose
data lie as is rarely best. They raise NotImplementedError for what the peer is not given here.
`threads` is set for the whole process, so give each number of threads a process of its own.
"""

from __future__ import annotations

import importlib
from types import ModuleType

_PEERS = ("torch_", "onnxruntime_", "openvino_", "litert_")


def available() -> tuple[list[ModuleType], list[str]]:
    """Return the peers that are installed, and a sentence for each that is not."""
    found: list[ModuleType] = []
    absent: list[str] = []
    for name in _PEERS:
        try:
            found.append(importlib.import_module(f"{__name__}.{name}"))
        except ImportError as error:
            absent.append(f"{name.rstrip('_')} is skipped: {error}")
    return found, absent
