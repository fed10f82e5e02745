"""The C header of a library: what a program has to know to call it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tilewright.graph.executable import Executable
from tilewright.graph.export.glue import BAD_POINTER, BAD_THREADS, workspace_bytes
from tilewright.graph.ir import Value
from tilewright.runtime.threads import MAX_THREADS

# The numbers of C as the library reads them; short floats are seen as their bits.
C_TYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "bool": "uint8_t",
}


def header(executable: Executable, name: str, library: str, *, parallel: bool) -> str:
    """Return the text of `name.h`."""
    upper, guard = name.upper(), f"{name.upper()}_H"
    run = (
        "several cores are used" if parallel
        else "it is accepted, but one core does all: the library was linked without OpenMP"
    )  # fmt: skip
    return "\n".join(
        [
            f"/* {library}: a neural network compiled by tilewright for {executable.target.cpu}.",
            " *",
            " * Inputs and outputs are arrays whose last index runs fastest, aligned as their",
            " * elements are. Outputs are written whole, and must not overlap with inputs or with",
            " * each other. Functions keep no state: threads may call them at once, each with a",
            " * workspace of its own.",
            " */",
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            "#include <stddef.h>",
            "#include <stdint.h>",
            "",
            *_ends("INPUT", executable.inputs, upper),
            *_ends("OUTPUT", executable.outputs, upper),
            f"#define {upper}_WORKSPACE_BYTES {workspace_bytes(executable)}",
            f"#define {upper}_THREADS {executable.threads} /* that it was tuned for */",
            "",
            "/* What the network returns when it did not run. */",
            f"#define {upper}_BAD_POINTER {BAD_POINTER} /* an array or the workspace is NULL */",
            f"#define {upper}_BAD_THREADS {BAD_THREADS} /* not from 1 to {MAX_THREADS} */",
            "",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            "",
            "/* Returns how many bytes a workspace has to have; they need not be aligned. */",
            f"size_t {name}_workspace_bytes(void);",
            "",
            f"/* Runs the network: reads inputs[0] to inputs[{upper}_INPUTS - 1], and writes",
            f" * outputs[0] to outputs[{upper}_OUTPUTS - 1]. What is in the workspace before does",
            f" * not matter. `threads` is from 1 to {MAX_THREADS}; {run}.",
            " * Returns 0, or one of the numbers above.",
            " */",
            f"int {name}_run(const void *const *inputs, void *const *outputs, void *workspace,",
            f"{' ' * len(f'int {name}_run(')}int threads);",
            "",
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "",
            f"#endif /* {guard} */",
            "",
        ]
    )


def _ends(what: str, values: tuple[Value, ...], upper: str) -> Iterator[str]:
    yield f"#define {upper}_{what}S {len(values)}"
    for i, value in enumerate(values):
        at = f"{upper}_{what}_{i}"
        shape = ", ".join(map(str, value.shape)) or "1"
        yield f"/* {what.lower()} {i}: {_plain(value.name)}, {value.dtype} */"
        yield f"#define {at}_TYPE {C_TYPES.get(value.dtype, f'{value.dtype}_t')}"
        yield f"#define {at}_RANK {len(value.shape)}"
        yield f"#define {at}_SHAPE {{{shape}}}"
        yield f"#define {at}_ELEMENTS {math.prod(value.shape)}"
        yield f"#define {at}_BYTES {value.nbytes}"
    yield ""


def _plain(name: str) -> str:
    """Return a name that cannot end the comment it is in, nor its line."""
    kept = [c if c.isascii() and c.isprintable() and c not in "\\?" else "_" for c in name]
    return "".join(kept).replace("*/", "*_").replace("/*", "_*")
