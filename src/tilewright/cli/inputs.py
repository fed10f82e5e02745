"""The arrays that a command runs a network on: made up, or read from a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from tilewright.graph.ir import Value

MOST = 7  # of integers, which may be indices into something small
_BYTES = ("int8", "uint8")  # quantized numbers rather than indices: all of their range is drawn


def random_inputs(values: Sequence[Value], most: int = MOST) -> dict[str, np.ndarray]:
    """Return arrays by name: normal numbers, booleans most of which hold, integers 0 to `most`.

    Of booleans the first of each row holds: a mask without any gives no numbers.
    """
    import numpy as np

    from tilewright import dtypes

    rng = np.random.default_rng(0)
    made: dict[str, np.ndarray] = {}
    for value in values:
        if dtypes.is_float(value.dtype):
            array = rng.standard_normal(value.shape).astype(dtypes.numpy(value.dtype))
        elif value.dtype == "bool":
            array = np.asarray(rng.random(value.shape) < 0.9)
            array[(..., slice(1)) if value.shape else ()] = True
        else:
            kind = np.iinfo(value.dtype)
            whole = value.dtype in _BYTES and most == MOST
            low, high = (kind.min, kind.max) if whole else (0, most)
            array = rng.integers(low, high, value.shape, value.dtype, endpoint=True)
        made[value.name] = np.asarray(array)
    return made


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


def described(values: Sequence[Value], path: Path | None, most: int = MOST) -> str:
    """Say in a line what a network is run on."""
    from tilewright import dtypes

    if path is not None:
        return f"inputs: those of {path}"
    kinds: dict[str, list[str]] = {}
    for value in values:
        if dtypes.is_float(value.dtype):
            kind = "normal numbers"
        elif value.dtype == "bool":
            kind = "true at 9 of 10"
        elif value.dtype in _BYTES and most == MOST:
            kind = "all that the type has"
        else:
            kind = f"whole numbers from 0 to {most}" if most else "zeros"
        kinds.setdefault(kind, []).append(value.name)
    listed = "; ".join(f"{', '.join(names)}: {kind}" for kind, names in kinds.items())
    return f"inputs at random ({listed or 'none'}); --inputs file.npz gives others"
