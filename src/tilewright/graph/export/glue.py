"""The functions that a library offers, as LLVM text: they point each kernel at its arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.codegen.llvm.team import one_region
from tilewright.graph.executable import Copy, Executable, Place
from tilewright.runtime.memory import ALIGNMENT
from tilewright.runtime.threads import MAX_THREADS

BAD_POINTER, BAD_THREADS = 1, 2
_STATE = ("inputs", "outputs", "workspace")

# What takes the place of OpenMP where it is not to be had: the caller's thread does all.
SERIAL = """
define hidden void @GOMP_parallel(ptr %run, ptr %data, i32 %threads, i32 %flags) {
  call void %run(ptr %data)
  ret void
}
define hidden i32 @omp_get_thread_num() {
  ret i32 0
}
define hidden i32 @omp_get_num_threads() {
  ret i32 1
}
define hidden i32 @omp_get_num_procs() {
  ret i32 1
}
"""


def workspace_bytes(executable: Executable) -> int:
    """Return the arena and what aligning it may take; 0 if there is none."""
    return executable.arena + ALIGNMENT - 1 if executable.arena else 0


def glue(executable: Executable, name: str, offsets: Sequence[int]) -> str:
    """Return `name_run` and `name_workspace_bytes`; `offsets` are those of the weights.

    `name_run` returns 0, or what is wrong, without having run anything.
    """
    return "\n".join(
        [
            f'target triple = "{executable.target.triple}"',
            f"@{name}_weights = external hidden constant i8, align {ALIGNMENT}",
            *(f"declare void @{kernel.name}.within(ptr, ptr)" for kernel in executable.kernels),
            "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)",
            f"define i64 @{name}_workspace_bytes() #0 {{",
            f"  ret i64 {workspace_bytes(executable)}",
            "}",
            f"define i32 @{name}_run(ptr %inputs, ptr %outputs, ptr %workspace, i32 %threads) #0",
            "{",
            *_checked(executable),
            *_state(),
            "  call void @team.run(ptr %state, i32 %threads)",
            "  ret i32 0",
            "bad_pointer:",
            f"  ret i32 {BAD_POINTER}",
            "bad_threads:",
            f"  ret i32 {BAD_THREADS}",
            "}",
            "define internal void @walk(ptr %state, ptr %team) #0 {",
            *_unpacked(executable),
            *_arena(executable),
            *_arguments(executable),
            *_calls(executable, name, offsets),
            *(line for i, copy in enumerate(executable.copies)
              for line in _copied(executable, name, offsets, i, copy)),
            "  ret void",
            "}",
            one_region(executable.target, shared=executable.shared),
            "attributes #0 = { nounwind }",
        ]
    )  # fmt: skip


def _checked(executable: Executable) -> Iterator[str]:
    """Look for the addresses of all arrays; leave where one is missing, or `threads` cannot be."""
    yield "entry:"
    yield f"  %less = sub i32 %threads, 1\n  %most = icmp ult i32 %less, {MAX_THREADS}"
    yield "  br i1 %most, label %counted, label %bad_threads"
    yield "counted:"
    needed = [table for table, _, count in _tables(executable) if count]
    needed += ["workspace"] if executable.arena else []
    for pointer in needed:
        yield from _present(pointer)
    for table, each, count in _tables(executable):
        for i in range(count):
            yield from _loaded(table, each, i)
            yield from _present(f"{each}{i}")


def _tables(executable: Executable) -> list[tuple[str, str, int]]:
    inputs, outputs = len(executable.inputs), len(executable.outputs)
    return [("inputs", "input", inputs), ("outputs", "output", outputs)]


def _loaded(table: str, each: str, i: int) -> Iterator[str]:
    yield f"  %at.{each}{i} = getelementptr ptr, ptr %{table}, i64 {i}"
    yield f"  %{each}{i} = load ptr, ptr %at.{each}{i}"


def _state() -> Iterator[str]:
    """Put what `walk` reads where one pointer leads to it."""
    yield "  %state = alloca [3 x ptr]"
    for i, pointer in enumerate(_STATE):
        yield f"  %state{i} = getelementptr ptr, ptr %state, i64 {i}"
        yield f"  store ptr %{pointer}, ptr %state{i}"


def _unpacked(executable: Executable) -> Iterator[str]:
    for i, pointer in enumerate(_STATE):
        yield f"  %state{i} = getelementptr ptr, ptr %state, i64 {i}"
        yield f"  %{pointer} = load ptr, ptr %state{i}"
    for table, each, count in _tables(executable):
        for i in range(count):
            yield from _loaded(table, each, i)


def _present(pointer: str) -> Iterator[str]:
    yield f"  %null.{pointer} = icmp eq ptr %{pointer}, null"
    yield f"  br i1 %null.{pointer}, label %bad_pointer, label %have.{pointer}"
    yield f"have.{pointer}:"


def _arena(executable: Executable) -> Iterator[str]:
    """Begin on a cache line, wherever the caller's memory does."""
    if executable.arena:
        yield "  %address = ptrtoint ptr %workspace to i64"
        yield "  %beyond = sub i64 0, %address"
        yield f"  %before = and i64 %beyond, {ALIGNMENT - 1}"
        yield "  %arena = getelementptr i8, ptr %workspace, i64 %before"


def _arguments(executable: Executable) -> Iterator[str]:
    count = max((len(call.places) for call in executable.calls), default=0)
    for i in range(count):
        if i == 0:
            yield f"  %argument0 = alloca [{count} x ptr], align 16"
        else:
            yield f"  %argument{i} = getelementptr ptr, ptr %argument0, i64 {i}"


def _calls(executable: Executable, name: str, offsets: Sequence[int]) -> Iterator[str]:
    for c, call in enumerate(executable.calls):
        for i, place in enumerate(call.places):
            yield f"  %p{c}.{i} = {_pointer(place, name, offsets)}"
            yield f"  store ptr %p{c}.{i}, ptr %argument{i}"
        first = "%argument0" if call.places else "null"
        kernel = executable.kernels[call.kernel].name
        yield f"  call void @{kernel}.within(ptr {first}, ptr %team)"


def _copied(
    executable: Executable, name: str, offsets: Sequence[int], number: int, copy: Copy
) -> Iterator[str]:
    nbytes = executable.outputs[copy.output].nbytes
    yield f"  %copy{number} = {_pointer(copy.source, name, offsets)}"
    yield (
        f"  call void @llvm.memmove.p0.p0.i64(ptr %output{copy.output}, ptr %copy{number}, "
        f"i64 {nbytes}, i1 false)"
    )


def _pointer(place: Place, name: str, offsets: Sequence[int]) -> str:
    match place.region:
        case "weight":
            return f"getelementptr i8, ptr @{name}_weights, i64 {offsets[place.at]}"
        case "arena":
            return f"getelementptr i8, ptr %arena, i64 {place.at}"
        case "input" | "output":
            return f"getelementptr i8, ptr %{place.region}{place.at}, i64 0"
