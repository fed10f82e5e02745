"""The arrays that a command runs a network on: made up, or read from a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from tilewright.graph.ir import Value


def read_inputs(values: Sequence[Value], path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file by name; raise ArgumentError if they are not the inputs."""
    from zipfile import BadZipFile

    import numpy as np

    from tilewright.errors import ArgumentError
    from tilewright.graph.inputs import checked_inputs

    how = "write it by numpy.savez(path, **arrays), arrays by name of input"
    try:
        with open(path, "rb") as file:
            read = np.load(file)  # pickled objects are refused
            if not isinstance(read, np.lib.npyio.NpzFile):
                raise ArgumentError(f"cannot read --inputs {path}: it holds one array; {how}.")
            arrays = {name: read[name] for name in read.files}
    except (ValueError, EOFError, BadZipFile) as error:
        raise ArgumentError(f"cannot read --inputs {path}: {error}; {how}.") from None
    except OSError as error:
        why = error.strerror or str(error)
        raise ArgumentError(f"cannot read --inputs {path}: {why}; {how}.") from None
    try:
        checked = checked_inputs(values, (), arrays)
    except ArgumentError as error:
        raise ArgumentError(f"--inputs {path} does not fit: {error}") from None
    return {value.name: array for value, array in zip(values, checked, strict=True)}


def described(values: Sequence[Value], path: Path | None, most: int | None = None) -> str:
    """Say in a line what a network is run on; `most` as `random_inputs` takes it."""
    from tilewright import dtypes
    from tilewright.graph.random import BYTES, MOST

    most = MOST if most is None else most
    if path is not None:
        return f"inputs: those of {path}"
    kinds: dict[str, list[str]] = {}
    for value in values:
        if dtypes.is_float(value.dtype):
            kind = "normal numbers"
        elif value.dtype == "bool":
            kind = "true at 9 of 10"
        elif value.dtype in BYTES and most == MOST:
            kind = "all that the type has"
        else:
            kind = f"whole numbers from 0 to {most}" if most else "zeros"
        kinds.setdefault(kind, []).append(value.name)
    listed = "; ".join(f"{', '.join(names)}: {kind}" for kind, names in kinds.items())
    return f"inputs at random ({listed or 'none'}); --inputs file.npz gives others"
