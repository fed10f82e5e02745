"""A nest as one LLVM module: an entry function, a function for each top loop, a timing loop.

The entry is `void name(ptr arguments, i32 threads)`, where `arguments` points to the addresses of
the nest's parameters. A caller that has a team calls `void name.within(ptr arguments, ptr team)`;
parallel loops are shared out among its threads (`team.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright import dtypes
from tilewright.codegen.llvm.parallel import Parallel
from tilewright.codegen.llvm.promote import promote
from tilewright.codegen.llvm.team import DECLARED, loop_by_loop
from tilewright.errors import CompileError
from tilewright.expr.parts import loads
from tilewright.loops.nodes import MAX_LOCAL, Buffer, Loop, Nest, Node, product, walk
from tilewright.loops.tidy import tidy
from tilewright.target import CALLS, Target


@dataclass(frozen=True, slots=True)
class Module:
    """LLVM text, the parameters that its entry function reads in order, what it calls."""

    text: str
    name: str
    parameters: tuple[Buffer, ...]
    calls: tuple[str, ...]


def module(nest: Nest, target: Target, name: str = "kernel") -> Module:
    """Generate code for a nest; raise CompileError if it cannot be compiled."""
    nest = tidy(nest)
    used = {b.buffer for _, b in walk(nest.body)}
    used |= {x.buffer for _, b in walk(nest.body) for x in loads(b.value)}
    parameters = tuple(b for b in nest.parameters if b.name in used)
    promoted = promote(nest)
    functions: list[str] = []
    calls: list[str] = []
    declared: set[str] = set()
    for i, nodes in enumerate(groups(nest)):
        text, call = _region(nest, nodes, target, f"{name}.{i}", parameters, promoted, declared)
        functions.append(text)
        calls.append(call)
    shared = any(".share" in call for call in calls)
    text = "\n".join(
        [
            f'target triple = "{target.triple}"',
            *functions,
            _entry(name, calls, parameters, shared=shared),
            loop_by_loop(name, shared=shared),
            repeat(name),
            *sorted(declared),
            *([DECLARED] if shared else []),
            f'attributes #0 = {{ nounwind "prefer-vector-width"="{target.vector_bytes * 8}" }}',
        ]
    )
    return Module(text, name, parameters, CALLS if shared else ())


def groups(nest: Nest) -> list[tuple[Node, ...]]:
    """Return the top nodes, in order, those together that share a thread's local buffers."""
    local = {b.name for b in nest.buffers if b.scope in ("local", "register")}
    last: dict[str, int] = {}
    touched: list[set[str]] = []
    for place, node in enumerate(nest.body):
        blocks = [block for _, block in walk((node,))]
        names = {b.buffer for b in blocks} | {x.buffer for b in blocks for x in loads(b.value)}
        touched.append(names & local)
        last.update(dict.fromkeys(touched[-1], place))
    out: list[tuple[Node, ...]] = []
    until = -1
    for place, node in enumerate(nest.body):
        out = [*out[:-1], (*out[-1], node)] if place <= until else [*out, (node,)]
        until = max(until, *(last[name] for name in touched[place]), place)
    return out


def _region(
    nest: Nest,
    nodes: tuple[Node, ...],
    target: Target,
    name: str,
    parameters: tuple[Buffer, ...],
    promoted: set[str],
    declared: set[str],
) -> tuple[str, str]:
    """Return the function of top nodes, and the text that calls it; a parallel loop is shared."""
    lanes = {dtype: target.lanes(dtypes.nbytes(dtype)) for dtype in dtypes.LLVM}
    emitter = Parallel(dict(nest.by_name), promoted, lanes, target)
    emitter.pointers = {b.name: f"%p{i}" for i, b in enumerate(parameters)}
    ahead = {b.name for b in nest.buffers if b.prefetch}
    blocks = (block for _, block in walk(nodes) if ahead)
    emitter.last = {x.buffer: b.stage for b in blocks for x in loads(b.value) if x.buffer in ahead}
    stack = _stack(nest, nodes, promoted, emitter)
    node = nodes[0]
    shares = (
        len(nodes) == 1 and isinstance(node, Loop) and node.kind == "parallel" and node.extent >= 1
    )
    if shares:
        assert isinstance(node, Loop)
        emitter.parallel(node)
    else:
        emitter.nodes(nodes)
    declared |= emitter.declared
    pointers = ", ".join(f"ptr noalias %p{i}" for i in range(len(parameters)))
    head = f"i64 %lo, i64 %hi, {pointers}" if shares else pointers
    lines = [f"define internal void @{name}({head}) #0 {{", "entry:", *stack, emitter.text()]
    text = "\n".join([*lines, "  ret void", "}"])
    passed = ", ".join(f"ptr %p{i}" for i in range(len(parameters)))
    if not shares:
        return text, f"  call void @{name}({passed})"
    assert isinstance(node, Loop)
    count = emitter.tasks(node)
    return f"{text}\n{_share(name, count, len(parameters))}", _fork(name, count, passed)


def _stack(nest: Nest, nodes: tuple[Node, ...], promoted: set[str], emitter: Parallel) -> list[str]:
    """Put local buffers that need memory on the stack of the function that uses them."""
    inside = {b.buffer for _, b in walk(nodes)}
    lines: list[str] = []
    total = 0
    for buffer in nest.buffers:
        if buffer.scope not in ("local", "register") or buffer.name in promoted:
            continue
        if buffer.name in inside:
            size = int(product(buffer.shape)) * dtypes.nbytes(buffer.dtype)
            total += size
            pointer = f"%s{len(lines)}"
            emitter.pointers[buffer.name] = pointer
            lines.append(f"  {pointer} = alloca [{size} x i8], align 64")
    if total > MAX_LOCAL:
        raise CompileError(
            f"local buffers of {nest.name} take {total} bytes, but a thread's stack holds "
            f"{MAX_LOCAL}: keep smaller tiles, or compute the stage outside of the loops."
        )
    return lines


def _share(name: str, count: int, parameters: int) -> str:
    """What each thread runs: its share of the tasks, contiguous and even."""
    lines = [
        f"define internal void @{name}.share(ptr %arguments, i32 %thread32, i32 %threads32) #0 {{",
        "  %thread = zext i32 %thread32 to i64",
        "  %threads = zext i32 %threads32 to i64",
        f"  %first = mul i64 %thread, {count}",
        "  %lo = udiv i64 %first, %threads",
        f"  %second = add i64 %first, {count}",
        "  %hi = udiv i64 %second, %threads",
        *_unpack(parameters),
    ]
    passed = ", ".join(f"ptr %p{i}" for i in range(parameters))
    return "\n".join(
        [*lines, f"  call void @{name}(i64 %lo, i64 %hi, {passed})", "  ret void", "}"]
    )


def _fork(name: str, count: int, passed: str) -> str:
    """Hand a loop to the team; without one, run all of it."""
    label = name.replace(".", "_")
    return "\n".join(
        [
            f"  br i1 %alone, label %{label}_alone, label %{label}_shared",
            f"{label}_shared:",
            f"  %{label}_fork = load ptr, ptr %team",
            f"  call void %{label}_fork(ptr %team, ptr @{name}.share, ptr %arguments)",
            f"  br label %{label}_done",
            f"{label}_alone:",
            f"  call void @{name}(i64 0, i64 {count}, {passed})",
            f"  br label %{label}_done",
            f"{label}_done:",
        ]
    )


def _unpack(parameters: int) -> list[str]:
    lines: list[str] = []
    for i in range(parameters):
        lines.append(f"  %a{i} = getelementptr ptr, ptr %arguments, i64 {i}")
        lines.append(f"  %p{i} = load ptr, ptr %a{i}")
    return lines


def _entry(name: str, calls: list[str], parameters: tuple[Buffer, ...], *, shared: bool) -> str:
    """The function that does it all, in order: with a team, or for any number of threads alone."""
    head = f"{name}.within(ptr %arguments, ptr %team)" if shared else f"{name}(ptr %arguments, i32)"
    return "\n".join(
        [
            f"define void @{head} #0 {{",
            *_unpack(len(parameters)),
            *(["  %alone = icmp eq ptr %team, null"] if shared else []),
            *calls,
            "  ret void",
            "}",
        ]
    )


def repeat(name: str, last: str = "i32 %threads") -> str:
    """A loop that calls the entry `count` times, so that timing it costs no Python.

    `last` is what the entry takes besides its arguments.
    """
    return "\n".join(
        [
            f"define void @{name}.repeat(ptr %arguments, {last}, i64 %count) #0 {{",
            "entry:",
            "  br label %again",
            "again:",
            "  %i = phi i64 [ 0, %entry ], [ %next, %again ]",
            f"  call void @{name}(ptr %arguments, {last})",
            "  %next = add i64 %i, 1",
            "  %more = icmp ult i64 %next, %count",
            "  br i1 %more, label %again, label %done",
            "done:",
            "  ret void",
            "}",
        ]
    )
