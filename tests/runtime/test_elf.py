"""Our linker: what it links runs as if LLVM had, and what is broken or unknown is refused."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.codegen.llvm.compile import object_code
from tilewright.runtime.artifact import Artifact
from tilewright.runtime.elf import Image, link
from tilewright.runtime.load import Loaded, Loader, pointers
from tilewright.target import Target, host

X86 = host().architecture == "x86_64"
pytestmark = pytest.mark.skipif(not X86, reason="objects for x86-64 are run")

SECTIONS, COUNT, NAMES = 0x28, 0x3C, 0x3E  # where ELF's header says it
KIND, FLAGS, AT, NBYTES, LINK, INFO, ALIGNMENT = 4, 8, 24, 32, 40, 44, 48  # in that of a section
PROGBITS, SYMTAB, RELA = 1, 2, 4


@pytest.fixture(scope="module")
def artifact() -> Artifact:
    """Code with constants of its own, functions of its own, and calls of OpenMP's."""
    a = tw.tensor("A", (6, 16))
    s = tw.Schedule(tw.compute("Y", (6, 16), lambda y, x: tw.tanh(a[y, x]) + tw.exp(a[y, x])))
    return tw.emit(s.parallel("y").vectorize("x"), name="both")


@pytest.fixture(scope="module")
def code(artifact: Artifact) -> bytes:
    return artifact.code


def linked(code: bytes) -> Image:
    return link(code, lambda _: 0x7FFF_1234_5678)


def section(code: bytes, kind: int, nth: int = 0) -> int:
    """Return where the header of the nth section of a kind is."""
    begin, count = struct.unpack_from("<Q", code, SECTIONS)[0], code[COUNT]
    headers = range(begin, begin + 64 * count, 64)
    return [at for at in headers if struct.unpack_from("<I", code, at + KIND)[0] == kind][nth]


def patched(code: bytes, at: int, layout: str, value: int) -> bytes:
    changed = bytearray(code)
    struct.pack_into(f"<{layout}", changed, at, value)
    return bytes(changed)


def results(artifact: Artifact, loaded: Loaded, threads: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal([int(n) for n in b.shape]) for b in artifact.parameters]
    arrays = [a.astype(b.dtype) for a, b in zip(arrays, artifact.parameters, strict=True)]
    table = pointers([a.ctypes.data for a in arrays])
    loaded.run(table, threads)
    out = next(a for a, b in zip(arrays, artifact.parameters, strict=True) if b.scope == "output")
    once = out.copy()
    out[...] = 0
    loaded.repeat(table, threads, 3)
    np.testing.assert_array_equal(out, once)
    return once


def calls_of_libm() -> Artifact:
    x = tw.tensor("X", (5,), "float64")
    return tw.emit(tw.compute("Y", (5,), lambda i: tw.exp(x[i]) + tw.sin(x[i]) + tw.fmod(x[i], 3)))


@pytest.mark.parametrize("threads", [1, 2])
def test_it_runs_as_what_llvm_links(artifact: Artifact, threads: int) -> None:
    """LLVM links what is said to be for other machines."""
    for made in artifact, calls_of_libm():
        loader = Loader()
        theirs = loader.load(replace(made, target=Target("aarch64")))
        wanted = results(made, theirs, threads)
        theirs.close()
        np.testing.assert_array_equal(results(made, loader.load(made), threads), wanted)


def pages(address: int) -> str:
    """Return how the memory at an address may be used, as Linux lists it: "" if there is none."""
    with open("/proc/self/maps") as file:
        for line in file:
            begin, end = (int(x, 16) for x in line.split()[0].split("-"))
            if begin <= address < end:
                return line.split()[1]
    return ""


def test_code_is_never_written_and_goes_with_what_holds_it(artifact: Artifact) -> None:
    loaded, other = Loader().load(artifact), Loader().load(artifact)
    entry = loaded.entry
    assert pages(entry) == "r-xp"
    del loaded
    assert pages(entry) == ""
    assert results(artifact, other, 1).any()


def test_references_within_are_the_same_wherever_it_lies(code: bytes) -> None:
    image = linked(code)
    assert set(image.functions) == {"both", "both.repeat", "both.within"}
    assert image == linked(code)
    assert image.data.count(b"\xff\x25\x02\x00\x00\x00\x66\x90") == 3  # OpenMP's


def test_what_it_calls_has_to_be_there(artifact: Artifact) -> None:
    text = f'target triple = "{host().triple}"\ndeclare void @nowhere()\n' + "\n".join(
        f"define void @{name}() {{ call void @nowhere() ret void }}" for name in ("f", "g")
    )
    made = replace(artifact, code=object_code(text, host()), name="f")
    with pytest.raises(ValueError, match="it calls 'nowhere', which there is not"):
        Loader().load(made)
    with pytest.raises(ValueError, match=r"it has no function 'other'"):
        Loader().load(replace(artifact, name="other"))


def test_variables_are_not_known() -> None:
    """Neither their memory, nor the references to those of others."""
    start = f'target triple = "{host().triple}"\n'
    own = "@v = internal global i32 1\ndefine void @f() { store volatile i32 0, ptr @v ret void }"
    with pytest.raises(ValueError, match="neither code nor constants"):
        linked(object_code(start + own, host()))
    other = "@v = external global i32\ndefine i32 @f() { %a = load i32, ptr @v ret i32 %a }"
    with pytest.raises(ValueError, match="refers to 'v' in way"):
        linked(object_code(start + other, host()))
    a = tw.tensor("A", (4,))
    made = tw.emit(tw.compute("Y", (4,), lambda i: a[i] + 1.0), "aarch64")
    with pytest.raises(ValueError, match="no object file for x86-64: type 1, machine 183"):
        linked(made.code)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda _: b"", "no object file"),
        (lambda c: b"MZ" + c[2:], "no object file"),
        (lambda c: patched(c, 4, "B", 1), "no object file of 64 bits"),
        (lambda c: c[:20], "damaged"),
        (lambda c: patched(c, 0x10, "H", 3), "type 3"),
        (lambda c: patched(c, SECTIONS, "Q", 1 << 63), "before what lies at"),
        (lambda c: patched(c, COUNT, "H", 0xFFFF), "before what lies at"),
        (lambda c: patched(c, COUNT, "H", 0), "0 tables of symbols"),
        (lambda c: patched(c, NAMES, "H", 999), "section 999 is no table of names"),
        (lambda c: patched(c, NAMES, "H", 2), "section 2 is no table of names"),
        (lambda c: patched(c, section(c, PROGBITS), "I", 1 << 30), "no name at"),
        (lambda c: patched(c, section(c, PROGBITS) + KIND, "I", 8), "sections of kind 8"),
        (lambda c: patched(c, section(c, PROGBITS) + FLAGS, "Q", 7), "'.text' is neither code"),
        (lambda c: patched(c, section(c, PROGBITS) + AT, "Q", 1 << 60), "before what lies at"),
        (lambda c: patched(c, section(c, PROGBITS) + NBYTES, "Q", 1 << 60), "overlap"),
        (lambda c: patched(c, section(c, PROGBITS) + ALIGNMENT, "Q", 48), "multiples of 48"),
        (lambda c: patched(c, section(c, PROGBITS) + ALIGNMENT, "Q", 1 << 62), "multiples of"),
        (lambda c: patched(c, section(c, SYMTAB) + LINK, "I", 2), "section 2 is no table of names"),
        (lambda c: patched(c, section(c, SYMTAB) + NBYTES, "Q", 25), "damaged"),
        (lambda c: patched(c, section(c, SYMTAB) + NBYTES, "Q", 24), "to symbol .* of 1"),
        (lambda c: patched(c, section(c, SYMTAB) + KIND, "I", 0), "0 tables of symbols"),
        (lambda c: patched(c, section(c, RELA) + LINK, "I", 1), "1 is no table of symbols"),
        (lambda c: patched(c, section(c, RELA) + KIND, "I", 9), "sections of kind 9"),
        (lambda c: patched(c, section(c, RELA) + NBYTES, "Q", 23), "damaged"),
        (lambda c: patched(c, entry(c) + 0, "Q", len(c)), "from outside of its section"),
        (lambda c: patched(c, entry(c) + 0, "Q", (1 << 64) - 2), "from outside of its section"),
        (lambda c: patched(c, entry(c) + 8, "I", 1), "in way 1, which is not known"),
        (lambda c: patched(c, entry(c) + 8, "I", 42), "in way 42, which is not known"),
        (lambda c: patched(c, entry(c) + 12, "I", 0), "refers to '' in way"),
        (lambda c: patched(c, entry(c) + 12, "I", 1 << 31), "refers to symbol 2147483648 of"),
        (lambda c: patched(c, entry(c) + 16, "q", 1 << 40), "over .* bytes"),
    ],
)  # fmt: skip
def test_files_that_are_broken(code: bytes, change: Callable[[bytes], bytes], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        linked(change(code))


def entry(code: bytes) -> int:
    """Return where the first reference is described."""
    return struct.unpack_from("<Q", code, section(code, RELA) + AT)[0]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_is_in_a_file_it_is_linked_or_refused(data: st.DataObject, code: bytes) -> None:
    """Nothing else is raised; no more is kept than the file has, jumps and gaps apart."""
    changed = bytearray(code)
    tables = st.integers(0, 63) | st.integers(len(code) // 2, len(code) - 1)  # where no code is
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(tables)
        changed[at] = data.draw(st.one_of(st.integers(0, 255), st.sampled_from((0, 1, 2, 127))))
    changed = bytes(changed[: data.draw(st.integers(0, len(code)) | st.just(len(code)))])
    with suppress(ValueError):
        image = linked(changed)
        assert all(0 <= at < len(image.data) for at in image.functions.values())
        assert len(image.data) < 20 * len(code)
