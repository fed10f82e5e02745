"""The arrays that a network is called with: checked all at once, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilewright import dtypes
from tilewright.errors import ArgumentError
from tilewright.graph.ir import Value
from tilewright.runtime.kernel import as_array

Array = np.ndarray[Any, Any]


def checked_inputs(
    inputs: Sequence[Value], arrays: tuple[Any, ...], named: Mapping[str, Any]
) -> list[Array]:
    """Return contiguous arrays for `inputs`, given in that order or by name, copied if need be.

    Raise ArgumentError, which lists all that is wrong, if they do not fit.
    """
    if not named and _plain(inputs, arrays):
        return list(arrays)
    wanted = {value.name: value for value in inputs}
    given = dict(zip(wanted, arrays, strict=False)) | dict(named)
    problems = [f"there is no input {name!r}" for name in named if name not in wanted]
    twice = [name for name, _ in zip(wanted, arrays, strict=False) if name in named]
    problems += [f"{name!r} is given twice" for name in twice]
    if len(arrays) > len(wanted):
        problems.append(f"{len(arrays)} arrays for {len(wanted)} input{'s' * (len(wanted) != 1)}")
    checked: list[Array] = []
    for name, value in wanted.items():
        if name not in given:
            problems.append(f"{value} is missing")
            continue
        raw = given[name]
        if not hasattr(raw, "__dlpack__"):
            problems.append(f"{value} is given as {type(raw).__name__}{_by_name(raw)}")
            continue
        try:
            raw = as_array(str(value), raw)
        except ArgumentError as error:
            problems.append(str(error).rstrip("."))
            continue
        if raw.shape != value.shape or raw.dtype != dtypes.numpy(value.dtype):
            given_as = f"{raw.dtype} {'x'.join(map(str, raw.shape))}"
            problems.append(f"{value} is given as {given_as}{_converted(value, raw)}")
        checked.append(np.require(raw, requirements=("C", "A")))
    if problems:
        listed = ", ".join(map(str, inputs))
        raise ArgumentError(f"cannot run: {'; '.join(problems)}. The inputs are {listed}.")
    return checked


def _by_name(raw: Any) -> str:
    return ", for arrays by name write net(**arrays)" if isinstance(raw, Mapping) else ""


def _converted(value: Value, raw: Array) -> str:
    """Say how to convert integers to others, which many make by mistake; nothing of the rest."""
    kinds = raw.dtype.kind, dtypes.numpy(value.dtype).kind
    convertible = raw.shape == value.shape and all(kind in "iu" for kind in kinds)
    return f' (convert it: .astype("{value.dtype}"))' if convertible else ""


def _plain(inputs: Sequence[Value], arrays: tuple[Any, ...]) -> bool:
    """Whether arrays fit as they are, which most do: a small network runs in microseconds."""
    if len(inputs) != len(arrays):
        return False
    for value, array in zip(inputs, arrays, strict=True):
        if type(array) is not np.ndarray or array.shape != value.shape:
            return False
        flags = array.flags
        if array.dtype != dtypes.numpy(value.dtype) or not (flags.c_contiguous and flags.aligned):
            return False
    return True
