"""Linking a shared library with whatever is there that can: a C compiler, a linker, or Zig."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tilewright.errors import CompileError

_DRIVERS = ("cc", "gcc", "clang")
_LINKERS = ("ld", "ld.lld")
_FOLDERS = ("/usr/lib", "/usr/lib64", "/lib", "/lib64")
# libgomp as a compiler's package has it, and as the runtime's package alone.
_OPENMP = (("-lgomp",), ("-l:libgomp.so.1",))
_MATH = {True: ("-lm",), False: ("-l:libm.so.6", "-l:libc.so.6")}


@dataclass(frozen=True, slots=True)
class Linker:
    """A command that links; a `driver` knows where the C library is, and hands on to a linker."""

    command: tuple[str, ...]
    driver: bool

    def arguments(self, words: Sequence[str]) -> list[str]:
        """Return words for the linker; paths among them may hold spaces and commas."""
        return [part for word in words for part in (("-Xlinker", word) if self.driver else (word,))]


def found(architecture: str) -> Iterator[Linker]:
    """Yield the linkers that are installed, the likeliest to work first."""
    for name in _DRIVERS:
        if path := shutil.which(name):
            yield Linker((path,), driver=True)
    for name in _LINKERS:
        if path := shutil.which(name):
            folders = [*_FOLDERS, *(f"{f}/{architecture}-linux-gnu" for f in _FOLDERS[::2])]
            yield Linker((path, *(f"-L{f}" for f in folders if Path(f).is_dir())), driver=False)
    if find_spec("ziglang"):
        triple = f"{architecture}-linux-gnu"
        yield Linker((sys.executable, "-m", "ziglang", "cc", "-target", triple), driver=True)


def link(
    objects: Sequence[Path],
    serial: Path | None,
    output: Path,
    exports: Path,
    architecture: str,
) -> bool:
    """Link objects into `output`, which offers what the version script `exports` names.

    `serial` defines OpenMP's functions for one thread, for where there is no libgomp; None if
    nothing calls them. Return whether the library is parallel. Raise CompileError, which says what
    to install, if nothing can link.
    """
    options = (
        f"--version-script={exports}", f"-soname={output.name}", "-z", "defs", "-z", "noexecstack",
        "--gc-sections",
    )  # fmt: skip
    choices = [*_OPENMP, (str(serial),)] if serial else [()]
    failures: list[str] = []
    for linker in found(architecture):
        for choice in choices:
            command = [
                *linker.command, "-shared", "-o", str(output), *map(str, objects),
                *linker.arguments(options), *choice, *_MATH[linker.driver],
            ]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return choice in _OPENMP
            said = [line for line in done.stderr.splitlines() if line.strip()]
            failures.append(f"{Path(command[0]).name}: {said[0] if said else done.returncode}")
    tried = f" ({'; '.join(dict.fromkeys(failures))})" if failures else ""
    raise CompileError(
        f"cannot link {output.name}: no linker works here{tried}. Install a C compiler (Debian: "
        "apt install gcc), or the one in the package ziglang (pip install ziglang)."
    )
