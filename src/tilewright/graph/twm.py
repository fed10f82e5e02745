"""A compiled network in one file, `net.twm`: written whole or not at all, checked when it is read.

The file is a fixed start, a header in JSON and the parts: the object code of each kernel, then the
weights. All begin at multiples of 64 bytes, with zeros between them, and carry their SHA-256.

    0   8   magic: 0x89 "TWM" CR LF 0x1A LF, which a transfer as text would change
    8   4   version of the format, little-endian as all numbers are
    12  4   zero
    16  8   size of the file
    24  8   size of the header
    32  32  digest of the 32 bytes before and of the header
    64      the header

The digests guard against damage. They are no signature: a file holds machine code, which may do
anything, so only files of people one trusts should be loaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.errors import ModelError
from tilewright.graph.executable import Array, Executable
from tilewright.graph.header import Reader, described, executable_of, target_of_header
from tilewright.graph.memory import verify
from tilewright.graph.module import Module
from tilewright.graph.paths import path_of
from tilewright.graph.whole import write
from tilewright.runtime.artifact import check_runs_here
from tilewright.runtime.memory import empty, padded, physical

MAGIC = b"\x89TWM\r\n\x1a\n"
VERSION = 3  # 1: kernels that took no team; 2: a region of OpenMP's for each run
_START = struct.Struct("<8sIIQQ")
_HEADER = _START.size + hashlib.sha256().digest_size  # where the header begins
_MOST_HEADER = 1 << 28


def save(executable: Executable, path: Path) -> None:
    """Write an executable to a file, all of it or nothing; raise ModelError if that cannot be."""
    try:
        write(path, _pieces(executable))
    except OSError as error:
        raise ModelError(
            f"cannot save a module to {path}: {error.strerror or error}; give the path of a file "
            "in a directory that can be written."
        ) from error


def load(path: str | PathLike[str]) -> Module:
    """Read a network that `module.save` wrote; nothing is compiled.

    It holds machine code: load only files that come from where you trust. Raise ModelError for a
    file that is damaged or none of ours, TargetError for one whose code cannot run on this machine.
    """
    path = path_of("load", path)
    try:
        with open(path, "rb") as file:
            whole = _read(file)
        executable = _parsed(whole)
    except OSError as error:
        raise ModelError(
            f"cannot load {path}: {error.strerror or error}; give the path of a file that "
            "module.save wrote."
        ) from error
    except (ValueError, ModelError, RecursionError, OverflowError) as error:
        raise _broken(path, error) from error
    try:
        return Module(executable)
    except ModelError as error:
        raise _broken(path, error) from error


def _broken(path: Path, error: Exception) -> ModelError:
    said = str(error).rstrip(".") or type(error).__name__
    return ModelError(
        f"cannot load {path}: {said}. Give a file that module.save wrote, or compile the network "
        "and save it again."
    )


# -- writing


def _pieces(executable: Executable) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a file in order."""
    codes = [kernel.code for kernel in (*executable.kernels, executable.sequence)]
    parts = [np.frombuffer(code, np.uint8) for code in codes] + list(executable.weights)
    spans, end = list[dict[str, Any]](), 0
    for part in parts:
        spans.append({"at": end, "bytes": part.nbytes, "sha256": _digest(part)})
        end = padded(end + part.nbytes)
    header = json.dumps({**described(executable), "parts": spans}).encode()
    first = padded(_HEADER + len(header))
    start = _START.pack(MAGIC, VERSION, 0, first + end, len(header))
    yield start
    yield hashlib.sha256(start + header).digest()
    yield header
    yield bytes(first - _HEADER - len(header))
    for part in parts:
        yield part.data
        yield bytes(padded(part.nbytes) - part.nbytes)


def _digest(data: Array) -> str:
    return hashlib.sha256(data.data).hexdigest()


# -- reading


@dataclass(frozen=True, eq=False)
class _File:
    """A whole file in memory, on a cache line, and what its start says."""

    data: Array
    header: bytes
    first: int


def _read(file: BufferedReader) -> _File:
    """Read a file whose start makes sense; raise ValueError for others, before memory is taken."""
    size = os.fstat(file.fileno()).st_size
    start = file.read(_HEADER)
    if not start.startswith(MAGIC):
        text = start[:4] == MAGIC[:4]
        raise ValueError(
            "it was changed as if it were a text" if text else "it is no compiled network"
        )
    if len(start) < _HEADER:
        raise ValueError("it ends within its start")
    _, version, zero, nbytes, header = _START.unpack_from(start)
    if version != VERSION:
        raise ValueError(f"its format is {version}, and this tilewright reads {VERSION}")
    if nbytes != size:
        raise ValueError(f"it has {size} bytes of {nbytes}")
    if zero or header > min(_MOST_HEADER, size - _HEADER):
        raise ValueError(f"its header of {header} bytes cannot be")
    data = empty((size,), "uint8")
    data[:_HEADER] = np.frombuffer(start, np.uint8)
    if file.readinto(data.data[_HEADER:]) != size - _HEADER:
        raise ValueError("it became shorter while it was read")
    told = data[_HEADER : _HEADER + header].tobytes()
    if hashlib.sha256(start[: _START.size] + told).digest() != start[_START.size :]:
        raise ValueError("its header is damaged: its digest is another")
    return _File(data, told, padded(_HEADER + header))


def _parsed(file: _File) -> Executable:
    """Return the executable of a file; raise ValueError or ModelError for one that makes none.

    Raise TargetError, before anything else of it is looked at, if its code cannot run here.
    """
    header = json.loads(file.header)
    check_runs_here(target_of_header(header))
    parts = _parts(file, header)
    kernels = len(Reader("header", header).field("kernels").each(lambda read: read)) + 1
    codes = [part.tobytes() for part in parts[:kernels]]
    executable = verify(executable_of(header, codes, parts[kernels:]))
    wanted = executable.arena + sum(v.nbytes for v in (*executable.inputs, *executable.outputs))
    there = physical()
    if wanted > there:
        raise ValueError(f"a run of it needs {wanted} bytes, and this machine has {there}")
    return executable


def _parts(file: _File, header: Any) -> list[Array]:
    """Return the parts, which follow each other without a byte that no digest or zero is for."""
    found: list[Array] = []
    _zeros(file.data[len(file.header) + _HEADER : file.first])
    end = file.first
    for read in Reader("header", header).field("parts").each(lambda read: read):
        at = read.field("at").whole() + file.first
        nbytes = read.field("bytes").whole()
        if at != end or padded(at + nbytes) > file.data.nbytes:
            raise ValueError(f"{read.where} lies outside of its place")
        part = file.data[at : at + nbytes]
        if _digest(part) != read.field("sha256").text():
            raise ValueError(f"it is damaged: the digest of {read.where} is another")
        end = padded(at + nbytes)
        _zeros(file.data[at + nbytes : end])
        found.append(part)
    if end != file.data.nbytes:
        raise ValueError(f"its parts end at {end} of {file.data.nbytes} bytes")
    return found


def _zeros(between: Array) -> None:
    if between.any():
        raise ValueError("it is damaged: there is something between its parts")
