"""Weights as an object file of their own: read-only data behind one symbol, in ELF.

It is written directly, since a compiler would hold tens of megabytes several times over to say the
same. The sections are `.rodata` with the arrays, the tables of symbols and names, and an empty one
that asks for a stack which is not executable.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from tilewright.errors import TargetError
from tilewright.graph.executable import Array
from tilewright.runtime.memory import ALIGNMENT, padded
from tilewright.target import Target

MACHINES = {"x86_64": 62, "aarch64": 183}  # e_machine
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_IDENTITY = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")  # of 64 bits, little-endian, version 1
_PROGBITS, _SYMTAB, _STRTAB = 1, 2, 3
_ALLOCATED = 2
_GLOBAL_OBJECT = 0x11
_HIDDEN = 2
_NAMES = b"\0.rodata\0.symtab\0.strtab\0.note.GNU-stack\0"


def offsets(weights: Sequence[Array]) -> list[int]:
    """Return where each array begins behind the symbol: at a cache line."""
    found, end = list[int](), 0
    for weight in weights:
        found.append(end)
        end = padded(end + weight.nbytes)
    return found


def write_weights(path: Path, symbol: str, weights: Sequence[Array], target: Target) -> None:
    """Write the object file; raise TargetError for a machine whose object files are others."""
    if target.architecture not in MACHINES or "linux" not in target.triple:
        raise TargetError(
            f"cannot export code for {target.triple}: libraries are made for Linux on "
            f"{' and '.join(MACHINES)}."
        )
    size = sum(padded(weight.nbytes) for weight in weights)
    symbols = _SYMBOL.pack(0, 0, 0, 0, 0, 0)
    symbols += _SYMBOL.pack(1, _GLOBAL_OBJECT, _HIDDEN, 1, 0, size)
    names = b"\0" + symbol.encode() + b"\0" + _NAMES[1:]
    section = {name: names.index(name) for name in _NAMES.split(b"\0") if name}
    first = padded(_HEADER.size)
    table = first + size
    end = padded(table + len(symbols) + len(names))
    sections = [
        _SECTION.pack(0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
        _SECTION.pack(
            section[b".rodata"], _PROGBITS, _ALLOCATED, 0, first, size, 0, 0, ALIGNMENT, 0
        ),
        _SECTION.pack(
            section[b".symtab"], _SYMTAB, 0, 0, table, len(symbols), 3, 1, 8, _SYMBOL.size
        ),
        _SECTION.pack(
            section[b".strtab"], _STRTAB, 0, 0, table + len(symbols), len(names), 0, 0, 1, 0
        ),
        _SECTION.pack(section[b".note.GNU-stack"], _PROGBITS, 0, 0, end, 0, 0, 0, 1, 0),
    ]
    header = _HEADER.pack(
        _IDENTITY, 1, MACHINES[target.architecture], 1, 0, 0, end, 0, _HEADER.size, 0, 0,
        _SECTION.size, len(sections), 3,
    )  # fmt: skip
    with open(path, "wb") as file:
        file.write(header.ljust(first, b"\0"))
        for weight in weights:
            file.write(weight.data)
            file.write(bytes(padded(weight.nbytes) - weight.nbytes))
        file.write((symbols + names).ljust(end - table, b"\0"))
        file.writelines(sections)
