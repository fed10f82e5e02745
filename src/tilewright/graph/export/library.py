"""export: from an executable to a shared library and its header."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tilewright.codegen.llvm.compile import object_code
from tilewright.errors import ArgumentError, ModelError
from tilewright.graph.executable import Executable
from tilewright.graph.export.glue import SERIAL, glue
from tilewright.graph.export.header import header
from tilewright.graph.export.link import link
from tilewright.graph.export.weights import offsets, write_weights

MOST_WEIGHTS = (1 << 31) - (1 << 28)  # bytes that code reaches past, which addresses by 32 bits


@dataclass(frozen=True, slots=True)
class Library:
    """A library that was written; `name` begins the names of its functions.

    It is `parallel` if it was linked with OpenMP, or has no loops to share out.
    """

    path: Path
    header: Path
    name: str
    parallel: bool


def export(executable: Executable, path: Path, name: str | None = None) -> Library:
    """Write a shared library, and beside it the header `name.h` (default: the file's name).

    Raise ArgumentError for a path or name that cannot be, TargetError for a machine without such
    libraries, CompileError if nothing that links is installed, ModelError if it cannot be written.
    """
    if path.suffix != ".so":
        raise ArgumentError(
            f"cannot export to {path}: a shared library is made, so give a path that ends in .so."
        )
    name = _name(path) if name is None else name
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise ArgumentError(
            f"cannot name functions {name!r}_run: give a name as of C, of letters, digits and _."
        )
    size = sum(weight.nbytes for weight in executable.weights)
    if size > MOST_WEIGHTS:
        raise ModelError(
            f"cannot export {size} bytes of weights: a library holds {MOST_WEIGHTS}. Save the "
            "module to a .twm file instead."
        )
    try:
        with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
            made = Path(folder, path.name)
            parallel = _linked(executable, name, made)
            there = Path(folder, f"{name}.h")
            there.write_text(header(executable, name, path.name, parallel=parallel))
            made.replace(path)
            beside = there.replace(path.with_name(there.name))
    except OSError as error:
        raise ModelError(
            f"cannot export to {path}: {error.strerror or error}; give the path of a file in a "
            "directory that can be written."
        ) from error
    return Library(path, beside, name, parallel)


def _linked(executable: Executable, name: str, output: Path) -> bool:
    """Link the library in its folder; return whether it uses several threads."""
    folder, target = output.parent, executable.target
    codes = {kernel.name: kernel.code for kernel in executable.kernels}
    codes["glue"] = object_code(glue(executable, name, offsets(executable.weights)), target)
    objects = [folder / f"{code}.o" for code in codes]
    for place, code in zip(objects, codes.values(), strict=True):
        place.write_bytes(code)
    objects.append(folder / "weights.o")
    write_weights(objects[-1], f"{name}_weights", executable.weights, target)
    exports = folder / "exports.map"
    exports.write_text(f"{{ global: {name}_run; {name}_workspace_bytes; local: *; }};\n")
    serial = folder / "serial.o"
    serial.write_bytes(object_code(f'target triple = "{target.triple}"\n{SERIAL}', target))
    shared = executable.shared
    parallel = link(objects, serial if shared else None, output, exports, target.architecture)
    return parallel or not shared


def _name(path: Path) -> str:
    """Return the name of a file as a name of C, as in `res_net` for libres-net.so."""
    plain = re.sub(r"\W", "_", path.stem.removeprefix("lib"), flags=re.ASCII)
    return plain if re.match(r"[A-Za-z_]", plain) else f"net_{plain}"
