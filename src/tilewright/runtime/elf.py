"""Object files for x86-64 as code that runs wherever it is put: a linker for what we compile.

All sections of a file that are kept lie in one image, one after another, and so does a table of
jumps, `jmp *[rip + 2]` and the address of a function elsewhere. Then every reference is to a place
at a fixed distance, and the image can be linked before it is known where it will lie.

A file can be anything: each number is checked before it is used, and what is not known is refused.
(System V ABI, AMD64 supplement, 4: https://gitlab.com/x86-psABIs/x86-64-ABI.)
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

_START = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian, the only version
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_RELOCATABLE, _X86_64 = 1, 62
_PROGBITS, _SYMTAB, _STRTAB, _RELA, _UNWIND = 1, 2, 3, 4, 0x70000001
_IGNORED = (0, 7, 0x6FFF4C03)  # nothing, notes, what LLVM says of addresses to other linkers
_KNOWN = (_PROGBITS, _SYMTAB, _STRTAB, _RELA, _UNWIND, *_IGNORED)
_WRITE, _ALLOC, _EXECUTE, _COMPRESSED, _THREAD = 1, 2, 4, 0x800, 0x400
_UNDEFINED = 0
_OF_CODE = (0, 1, 2, 3)  # kinds of symbol: none said, data, function, section
_GLOBAL = (1, 2)  # bindings
_PC32, _PLT32 = 2, 4
_JUMP = b"\xff\x25\x02\x00\x00\x00\x66\x90"  # jmp *[rip + 2], two bytes of nothing, the address
_PAGE = 4096
MOST_BYTES = 1 << 30  # of an object file: references reach 2 GB


class Image(NamedTuple):
    """Code that runs at the start of any page, and where in it each function begins."""

    data: bytes
    functions: Mapping[str, int]


def link(code: bytes, address: Callable[[str], int]) -> Image:
    """Link an object file; `address` returns that of a function which the file calls.

    Raise ValueError, with a reason, for a file that is broken or has what is not known here.
    """
    try:
        return _Object(code).linked(address)
    except struct.error as error:
        raise ValueError(f"it is damaged: {error}") from error


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    at: int
    nbytes: int
    link: int
    info: int
    alignment: int
    entry: int


class _Symbol(NamedTuple):
    name: str
    kind: int
    binding: int
    section: int
    value: int


@dataclass(frozen=True)
class _Object:
    code: bytes

    def linked(self, address: Callable[[str], int]) -> Image:
        places, image = self._placed()
        jumps: dict[str, int] = {}
        for section in self.sections:
            if section.kind == _RELA and section.info in places:
                self._relocate(section, places, image, jumps)
        for name, at in jumps.items():
            image[at : at + 16] = _JUMP + struct.pack("<Q", address(name))
        functions = {
            symbol.name: places[symbol.section] + symbol.value
            for symbol in self.symbols
            if symbol.binding in _GLOBAL and self._runs(symbol, places)
        }
        return Image(bytes(image), functions)

    def _placed(self) -> tuple[dict[int, int], bytearray]:
        """Return where in an image each section lies that is kept, and the image."""
        places: dict[int, int] = {}
        image = bytearray()
        for number, section in enumerate(self.sections):
            if not section.flags & _ALLOC or section.kind == _UNWIND:
                continue
            name = self._text(self._names, section.name)
            if name == ".eh_frame":
                continue
            if section.kind != _PROGBITS or section.flags & (_WRITE | _THREAD | _COMPRESSED):
                raise ValueError(f"its section {name!r} is neither code nor constants")
            step = max(1, section.alignment)
            if step > _PAGE or step & (step - 1):
                raise ValueError(f"its section {name!r} wants to lie at multiples of {step} bytes")
            image += bytes(-len(image) % step)
            places[number] = len(image)
            image += self._bytes(section)
        return places, image

    def _relocate(
        self, section: _Section, places: dict[int, int], image: bytearray, jumps: dict[str, int]
    ) -> None:
        """Write the distances of one section's references; `jumps` grow with what is elsewhere."""
        if section.link != self._symbols_at:
            raise ValueError(f"its section {section.link} is no table of symbols")
        begin, nbytes = places[section.info], self.sections[section.info].nbytes
        for offset, info, addend in _RELOCATION.iter_unpack(self._bytes(section)):
            number, kind = info >> 32, info & 0xFFFFFFFF
            if number >= len(self.symbols):
                raise ValueError(f"it refers to symbol {number} of {len(self.symbols)}")
            symbol = self.symbols[number]
            if offset > nbytes - 4:
                raise ValueError(f"it refers to {symbol.name!r} from outside of its section")
            if symbol.section == _UNDEFINED and symbol.name and kind == _PLT32:
                if symbol.name not in jumps:
                    image += bytes(-len(image) % 16)
                    jumps[symbol.name] = len(image)
                    image += bytes(16)
                target = jumps[symbol.name]
            elif kind in (_PC32, _PLT32) and self._within(symbol, places):
                target = places[symbol.section] + symbol.value
            else:
                raise ValueError(f"it refers to {symbol.name!r} in way {kind}, which is not known")
            distance = target + addend - (begin + offset)
            if not -(1 << 31) <= distance < 1 << 31:
                raise ValueError(f"it refers to {symbol.name!r} over {distance} bytes")
            struct.pack_into("<i", image, begin + offset, distance)

    def _within(self, symbol: _Symbol, places: dict[int, int]) -> bool:
        return (
            symbol.section in places
            and symbol.kind in _OF_CODE
            and symbol.value <= self.sections[symbol.section].nbytes
        )

    def _runs(self, symbol: _Symbol, places: dict[int, int]) -> bool:
        """Return whether a symbol is a place in code."""
        return self._within(symbol, places) and bool(
            self.sections[symbol.section].flags & _EXECUTE
            and symbol.value < self.sections[symbol.section].nbytes
        )

    @cached_property
    def sections(self) -> list[_Section]:
        if not self.code.startswith(_START):
            raise ValueError("it is no object file of 64 bits")
        if len(self.code) > MOST_BYTES:
            raise ValueError(f"it has {len(self.code)} bytes, and {MOST_BYTES} are the most")
        header = _HEADER.unpack_from(self.code)
        kind, machine, at, size, count = header[1], header[2], header[6], header[11], header[12]
        if (kind, machine, size) != (_RELOCATABLE, _X86_64, _SECTION.size):
            raise ValueError(f"it is no object file for x86-64: type {kind}, machine {machine}")
        table = self._slice(at, count * size)
        found = [_Section(*fields) for fields in _SECTION.iter_unpack(table)]
        if unknown := sorted({section.kind for section in found} - {*_KNOWN}):
            raise ValueError(f"it has sections of kind {unknown[0]}, which is not known")
        inside = [s.nbytes for s in found if s.kind in (_PROGBITS, _SYMTAB, _STRTAB, _RELA)]
        if sum(inside) > len(self.code):  # so that no more is read, or kept, than there is
            raise ValueError("its sections overlap, or reach over its end")
        return found

    @cached_property
    def symbols(self) -> list[_Symbol]:
        table = self.sections[self._symbols_at]
        names = self._string_table(table.link)
        return [
            _Symbol(self._text(names, name), info & 15, info >> 4, section, value)
            for name, info, _, section, value, _ in _SYMBOL.iter_unpack(self._bytes(table))
        ]

    @cached_property
    def _symbols_at(self) -> int:
        tables = [i for i, section in enumerate(self.sections) if section.kind == _SYMTAB]
        if len(tables) != 1:
            raise ValueError(f"it has {len(tables)} tables of symbols")
        return tables[0]

    @cached_property
    def _names(self) -> bytes:
        return self._string_table(_HEADER.unpack_from(self.code)[13])

    def _string_table(self, number: int) -> bytes:
        if number >= len(self.sections) or self.sections[number].kind != _STRTAB:
            raise ValueError(f"its section {number} is no table of names")
        return self._bytes(self.sections[number])

    def _text(self, table: bytes, at: int) -> str:
        end = table.find(b"\0", at)
        if not 0 <= at <= end:
            raise ValueError(f"it has no name at {at}")
        return table[at:end].decode("ascii", "backslashreplace")

    def _bytes(self, section: _Section) -> bytes:
        return self._slice(section.at, section.nbytes)

    def _slice(self, at: int, nbytes: int) -> bytes:
        if at + nbytes > len(self.code):
            raise ValueError(f"it ends at {len(self.code)}, before what lies at {at}")
        return self.code[at : at + nbytes]
