"""`tilewright export`: a network as a library for C programs, or as one file for Python ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli.options import Database, Network, Shapes, Tolerance
from tilewright.ops.conv2d import TOLERANCE


def export(
    model: Network,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="net.so for C, net.twm for tilewright.load.")
    ],
    db: Database = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads to choose schedules for; one if not given.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="A lesser machine to run on as well, such as x86-64-v3.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="How C functions' names begin; else as the file's.")
    ] = None,
    tolerance: Tolerance = TOLERANCE,
    shape: Shapes = None,
) -> None:
    """Compile a network with the best schedules on record, and write it to a file."""
    from tilewright.cli.console import console
    from tilewright.cli.network import SAVED, compiled
    from tilewright.errors import ArgumentError

    _check_output(output)
    if output.suffix not in (".so", SAVED):
        raise ArgumentError(
            f"cannot export to {output}: give a path that ends in .so for a shared library with a "
            f"C header, or in {SAVED} for a file that tilewright.load reads."
        )
    if model.suffix == SAVED and (target is not None or threads is not None):
        raise ArgumentError(
            f"cannot compile {model} for another machine or other threads: it is compiled already. "
            "Give the network as an ONNX file, or leave out --target and --threads."
        )
    out = console()
    module = compiled(out, model, db, threads or 1, shape or [], tolerance, target)
    if output.suffix == SAVED:
        module.save(output)
        out.print(f"wrote {output}: {_sizes(output)}", markup=False)
        return
    made = module.export(output, name)
    out.print(
        f"wrote {made.path}: {_sizes(made.path)}; {made.header} says how to call it", markup=False
    )
    if not made.parallel:
        out.print(
            "It runs on one thread: no libgomp was found to link with. Install it (Debian: apt "
            "install libgomp1) and export again."
        )


def _check_output(output: Path) -> None:
    """Refuse a path at which no file can be written, before a network is compiled for it."""
    import os

    from tilewright.errors import ArgumentError

    folder, why = output.parent, ""
    if output.is_dir():
        why = "it is a directory"
    elif not folder.is_dir():
        why = f"there is no directory {folder}"
    elif not os.access(folder, os.W_OK):
        why = f"{folder} cannot be written"
    if why:
        raise ArgumentError(
            f"cannot export to {output}: {why}. Give the path of a file in a directory that can be "
            "written."
        )


def _sizes(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.2f} MB"
