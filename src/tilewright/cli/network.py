"""The network that a command is about: a file of ONNX, compiled here, or one of `module.save`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from tilewright.graph.module import Module

SAVED = ".twm"
_DATABASE = "tuning.db"


def compiled(
    out: Console,
    path: Path,
    db: str | None,
    threads: int,
    shapes: Sequence[str],
    tolerance: float,
    target: str | None = None,
) -> Module:
    """Return a network that is ready to run, and say what of it is not tuned.

    Without `db`, schedules come from tuning.db if there is one.
    """
    from tilewright.cli.console import counted, tell_damage
    from tilewright.cli.shapes import parse_shapes
    from tilewright.graph.compile import compile
    from tilewright.graph.model import load_onnx
    from tilewright.records.store import Records

    if path.suffix == SAVED:
        return _saved(path, db, shapes, tolerance)
    network = load_onnx(path, parse_shapes(shapes), tolerance=tolerance)
    where = _DATABASE if db is None else db
    if db is None and not Path(where).exists():
        module = compile(network, threads=threads, target=target)
        if module.untuned:
            how = "" if target else f"; to tune it: {_tuning(path, threads, shapes)}"
            out.print(f"untuned, as there is no {where} here{how}", markup=False, soft_wrap=True)
        return module
    with Records(where if "://" in where else Path(where), create=False) as records:
        module = compile(network, records, threads=threads, target=target)
    tell_damage(records)
    if module.untuned:
        out.print(
            f"{counted(len(module.untuned), 'operator')} without trials in {where}"
            f"{f' for {target}' if target else ''}, run untuned: "
            f"{'; '.join(module.untuned)}",
            markup=False,
        )
    return module


def _tuning(path: Path, threads: int, shapes: Sequence[str]) -> str:
    """Return the command that tunes a network for as many threads, and with the same shapes."""
    import shlex

    words = ["tilewright", "tune", str(path)]
    words += ["--threads", str(threads)] if threads > 1 else []
    return shlex.join([*words, *(word for shape in shapes for word in ("--shape", shape))])


def _saved(path: Path, db: str | None, shapes: Sequence[str], tolerance: float) -> Module:
    from tilewright.errors import ArgumentError
    from tilewright.graph.twm import load
    from tilewright.ops.conv2d import TOLERANCE

    if db is not None or shapes or tolerance != TOLERANCE:
        raise ArgumentError(
            f"cannot choose schedules, shapes or a tolerance for {path}: it is compiled already. "
            "Give the network as an ONNX file, or leave out --db, --shape and --tolerance."
        )
    return load(path)
