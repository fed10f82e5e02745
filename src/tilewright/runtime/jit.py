"""LLVM's linker: an LLJIT that is replaced before it has leaked much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import llvmlite.binding as llvm

from tilewright.runtime.artifact import Artifact
from tilewright.runtime.threads import address


@dataclass
class Jit:
    """Links artifacts; every `recycle` of them it starts a fresh LLJIT (one leaks 9 KB a kernel).

    What is loaded stays valid as long as what it is held by.
    """

    recycle: int = 300
    _jit: Any = field(default=None, repr=False)
    _count: int = 0

    def load(
        self, artifact: Artifact, others: tuple[str, ...]
    ) -> tuple[int, int, tuple[int, ...], Any, Callable[[], None]]:
        """Return the addresses of both entries and of `others`, what holds the code, and its end.

        What is returned last releases the code.
        """
        if self._jit is None or self._count % self.recycle == 0:
            llvm.initialize_native_target()  # no other: their code would be read into memory
            self._jit = llvm.create_lljit_compiler()
        self._count += 1
        library = llvm.JITLibraryBuilder()
        library.add_object_img(artifact.code)
        library.add_current_process()
        for name in artifact.calls:
            library.import_symbol(name, address(name))
        names = artifact.name, f"{artifact.name}.repeat", *others
        for name in names:
            library.export_symbol(name)
        tracker = library.link(self._jit, f"{artifact.name}#{self._count}")
        entry, repeat, *more = (tracker[name] for name in names)
        return entry, repeat, tuple(more), (tracker, self._jit), tracker.close
