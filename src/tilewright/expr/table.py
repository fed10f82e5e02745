"""Small constant arrays inside of an expression, such as the matrix of a transform."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.axis import IndexLike, affine
from tilewright.expr.scalar import Table


class Constants:
    """A small constant array inside of an expression; made by `table`, indexed like a tensor."""

    def __init__(self, name: str, array: Any, dtype: str) -> None:
        wide = np.float64 if dtypes.is_float(dtype) else dtypes.numpy(dtype)
        try:
            given = np.asarray(array)
            made = np.zeros(0) if given.dtype.kind not in "biuf" else given.astype(wide)
            fits = made.shape == given.shape and np.array_equal(made, given, equal_nan=True)
        except (TypeError, ValueError, OverflowError):
            fits, made = False, np.zeros(0)
        if not isinstance(name, str) or not name or not fits or not made.size:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ExpressionError(
                f"cannot make table {name!r} of {array!r}: give a name, and an array of numbers "
                f"that {dtype} can hold."
            )
        self.name, self.shape, self.dtype = name, made.shape, dtype
        self.values = tuple(made.ravel().tolist())

    def __getitem__(self, index: IndexLike | tuple[IndexLike, ...]) -> Table:
        index = index if isinstance(index, tuple) else (index,)
        if len(index) != len(self.shape):
            raise ExpressionError(
                f"{self.name} has {len(self.shape)} dimensions {self.shape}, "
                f"but is indexed with {len(index)}."
            )
        at = tuple(affine(i) for i in index)
        return Table(self.name, self.values, self.shape, at, self.dtype)


def table(name: str, array: Any, dtype: Any = "float32") -> Constants:
    """Make a small constant array part of an expression, as the matrix of a transform is.

    A product with one of its zeros is nothing where a schedule writes the loops out: it may then
    be left out of a sum even if the other factor is infinite or no number.

    >>> import tilewright as tw
    >>> smooth = tw.table("S", [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    >>> x, k = tw.tensor("X", (3,)), tw.reduce_axis("k", 3)
    >>> tw.compute("Y", (2,), lambda i: tw.sum(smooth[i, k] * x[k], over=k))
    Y: float32 2 = sum((S[i, k] * X[k]), over=k)
    """
    return Constants(name, array, dtypes.check(dtype))
