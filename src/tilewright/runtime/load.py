"""Object code into this process: by our own linker for x86-64, by LLVM's for other machines."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from tilewright.runtime.artifact import Artifact
from tilewright.runtime.elf import link
from tilewright.runtime.threads import address

if TYPE_CHECKING:
    from tilewright.runtime.jit import Jit

_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)
_REPEAT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64)
_LIBM = "libm.so.6"  # of GNU; elsewhere what the process has


@dataclass
class Loaded:
    """Linked code: `run(arguments, threads)` and `repeat(arguments, threads, count)`.

    `others` are the addresses of what else was asked for. It is valid as long as this is alive and
    not closed; `held` is the memory that it lies in.
    """

    entry: int
    repeat_entry: int
    others: tuple[int, ...]
    held: Any = field(repr=False)
    close: Callable[[], None] = field(default=lambda: None, repr=False)

    def __post_init__(self) -> None:
        self.run = _ENTRY(self.entry)
        self.repeat = _REPEAT(self.repeat_entry)


@dataclass
class Loader:
    """Links artifacts; LLVM comes into memory only for those of a machine other than x86-64."""

    _jit: Jit | None = field(default=None, repr=False)

    def load(self, artifact: Artifact, *others: str) -> Loaded:
        """Link one artifact; its external functions are OpenMP's, those of C and of mathematics.

        `others` are functions of it that are wanted besides its entry. Raise ValueError or
        RuntimeError, with a reason, if that cannot be.
        """
        if sys.platform == "linux" and artifact.target.architecture == "x86_64":
            return _placed(artifact, others)
        if self._jit is None:
            from tilewright.runtime.jit import Jit

            self._jit = Jit()
        return Loaded(*self._jit.load(artifact, others))


def _placed(artifact: Artifact, others: tuple[str, ...]) -> Loaded:
    image = link(artifact.code, lambda name: _address(name, artifact.calls))
    names = artifact.name, f"{artifact.name}.repeat", *others
    missing = [name for name in names if name not in image.functions]
    if missing:
        raise ValueError(f"it has no function {missing[0]!r}")
    memory = _executable(image.data)
    begin = ctypes.addressof(memory)
    entry, repeat, *more = (begin + image.functions[name] for name in names)
    return Loaded(entry, repeat, tuple(more), memory)


def _executable(data: bytes) -> Any:
    """Return memory that holds `data`, to be run and no longer written."""
    own = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    pages = mmap.mmap(-1, max(1, len(data)), own)
    pages.write(data)
    memory = (ctypes.c_char * len(pages)).from_buffer(pages)  # it keeps the pages
    run = mmap.PROT_READ | mmap.PROT_EXEC
    if _library(None).mprotect(ctypes.byref(memory), ctypes.c_size_t(len(pages)), run):
        raise RuntimeError("this system lets no memory be executed that was written before")
    return memory


def _address(name: str, calls: tuple[str, ...]) -> int:
    if name in calls:
        return address(name)
    for library in (_LIBM, None):
        try:
            found = ctypes.cast(getattr(_library(library), name), ctypes.c_void_p).value
        except (OSError, AttributeError):
            continue
        if found:
            return found
    raise ValueError(f"it calls {name!r}, which there is not")


@cache
def _library(name: str | None) -> ctypes.CDLL:
    return ctypes.CDLL(name)


def pointers(addresses: list[int]) -> ctypes.Array[ctypes.c_void_p]:
    """Return the table of addresses that an entry function reads."""
    return (ctypes.c_void_p * max(1, len(addresses)))(*addresses)
