"""Arrays to run a network on where nobody gives any."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright import dtypes
from tilewright.graph.ir import Value

MOST = 7  # of integers, which may be indices into something small
BYTES = ("int8", "uint8")  # quantized numbers rather than indices: all of their range is drawn


def random_inputs(values: Sequence[Value], most: int = MOST) -> dict[str, np.ndarray]:
    """Return arrays by name: normal numbers, booleans most of which hold, integers 0 to `most`.

    Of booleans the first of each row holds: a mask without any gives no numbers.
    """
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
            whole = value.dtype in BYTES and most == MOST
            low, high = (kind.min, kind.max) if whole else (0, most)
            array = rng.integers(low, high, value.shape, value.dtype, endpoint=True)
        made[value.name] = np.asarray(array)
    return made
