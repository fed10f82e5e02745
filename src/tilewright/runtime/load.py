"""Object code into this process: an LLJIT that is replaced before it has leaked much."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import llvmlite.binding as llvm

from tilewright.runtime.artifact import Artifact
from tilewright.runtime.threads import address

_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)
_REPEAT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64)


@dataclass
class Loader:
    """Links artifacts; every `recycle` of them it starts a fresh LLJIT (one leaks 9 KB a kernel).

    What is loaded stays valid as long as its `Loaded` is alive.
    """

    recycle: int = 300
    _jit: Any = field(default=None, repr=False)
    _count: int = 0

    def load(self, artifact: Artifact) -> Loaded:
        """Link one artifact; its external functions are bound to the OpenMP runtime."""
        if self._jit is None or self._count % self.recycle == 0:
            llvm.initialize_native_target()  # no other: their code would be read into memory
            self._jit = llvm.create_lljit_compiler()
        self._count += 1
        library = llvm.JITLibraryBuilder()
        library.add_object_img(artifact.code)
        library.add_current_process()
        for name in artifact.calls:
            library.import_symbol(name, address(name))
        library.export_symbol(artifact.name)
        library.export_symbol(f"{artifact.name}.repeat")
        tracker = library.link(self._jit, f"{artifact.name}#{self._count}")
        return Loaded(
            tracker, tracker[artifact.name], tracker[f"{artifact.name}.repeat"], self._jit
        )


@dataclass
class Loaded:
    """Linked code: `run(arguments, threads)` and `repeat(arguments, threads, count)`."""

    tracker: Any
    entry: int
    repeat_entry: int
    jit: Any

    def __post_init__(self) -> None:
        self.run = _ENTRY(self.entry)
        self.repeat = _REPEAT(self.repeat_entry)

    def close(self) -> None:
        self.tracker.close()


def pointers(addresses: list[int]) -> ctypes.Array[ctypes.c_void_p]:
    """Return the table of addresses that an entry function reads."""
    return (ctypes.c_void_p * max(1, len(addresses)))(*addresses)
