"""What every operator refuses in its fields, what it takes for the same, and how it is named."""

# pyright: reportArgumentType=false
# (what is wrong on purpose)

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import re
from typing import Any

import numpy as np
import pytest
from tests.ops.operators import EDGES

import tilewright as tw
from tilewright import ops
from tilewright.errors import ExpressionError
from tilewright.ops import fields
from tilewright.tuning.task import Task

EVERY = (*EDGES, ops.ArgMax((3, 4)), ops.Requantized(ops.Dense(8, 4, 4, dtype="uint8")))
OPERATORS: dict[str, Any] = {type(one).__name__: one for one in reversed(EVERY)}
FIELDS = [
    (name, field.name) for name, one in OPERATORS.items() for field in dataclasses.fields(one)
]
TYPED = sorted(name for name, one in OPERATORS.items() if hasattr(one, "dtype"))
SHAPES = re.compile("shape|size|kernel|stride|pads|rows|batch|features|columns|axis|axes")


def changed(name: str, **values: Any) -> Any:
    return dataclasses.replace(OPERATORS[name], **values)


def test_every_operator_is_exported_and_has_an_example_here():
    assert {n for n in ops.__all__ if hasattr(getattr(ops, n), "expression")} == set(OPERATORS)
    assert ops.__all__ == sorted(ops.__all__)
    assert tw.ops.Conv2d is ops.Conv2d


def test_every_module_of_operators_is_exported():
    """An operator in a file of this folder is one of `tilewright.ops`."""
    for one in OPERATORS.values():
        module = inspect.getmodule(type(one))
        for name, found in vars(module).items():
            own = isinstance(found, type) and found.__module__ == type(one).__module__
            if own and hasattr(found, "expression"):
                assert name in ops.__all__


@pytest.mark.parametrize("of", FIELDS, ids=" ".join)
@pytest.mark.parametrize("value", [None, 2.5, "x", object(), (2.5,), ("x",), [None], -3, int])
def test_no_field_takes_what_it_cannot_be(of: tuple[str, str], value: Any):
    """Whatever a field is given is taken and has a meaning, or is refused by a sentence."""
    name, field = of
    with contextlib.suppress(ExpressionError):
        Task(changed(name, **{field: value})).expression  # noqa: B018  # what is taken has a meaning


@pytest.mark.parametrize("of", [f for f in FIELDS if SHAPES.search(f[1])], ids=" ".join)
def test_what_numpy_counts_with_is_the_same(of: tuple[str, str]):
    name, field = of
    value = getattr(OPERATORS[name], field)
    if isinstance(value, tuple):
        other: Any = [np.int64(n) if isinstance(n, int) else list(n) for n in value]
    else:
        other = value if isinstance(value, bool | None) else np.int32(value)
    made = changed(name, **{field: other})
    assert made == OPERATORS[name]
    assert hash(made) == hash(OPERATORS[name])
    assert repr(made) == repr(OPERATORS[name])


@pytest.mark.parametrize("name", TYPED)
def test_types_of_numpy_are_names(name: str):
    for dtype in np.float16, np.dtype("float64"), np.float32:
        made = changed(name, dtype=dtype)
        plain = np.dtype(dtype).name
        assert made == changed(name, dtype=plain)
        assert made.expression().digest == changed(name, dtype=plain).expression().digest
    for unknown in "float8", np.complex64, 3, None:
        with pytest.raises(ExpressionError, match=rf"{name}\(dtype=.*dtype is one of float32, "):
            changed(name, dtype=unknown)


@pytest.mark.parametrize("name", TYPED)
def test_names_tell_types_apart(name: str):
    """The name of float32 says nothing of it; the key is that of the work, not of its name."""
    plain, wide = changed(name, dtype="float32"), changed(name, dtype="float64")
    assert "float" not in plain.name
    assert wide.name == f"{plain.name} of float64"
    assert Task(plain).key != Task(wide).key


def test_a_name_is_said_once():
    made = ops.Requantized(ops.Dense(8, 4, 4, bias=True, dtype="uint8"), np.int8)
    assert made.name == "dense 8x4 -> 4 +bias of uint8 to int8"
    assert ops.Gather((9, 4), (3,), index_dtype="int32").name == "gather 9x4 at 3 int32 along 0"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ops.Conv2d(1, 14, 14, 32, 32, 3), r"Conv2d\(kernel=3\): kernel is a tuple of 2 "),
        (lambda: ops.Conv2d(1, 14, 14, 32, 32, (3,)), "2 whole numbers, each at least 1"),
        (lambda: ops.Conv2d(1, 8, 8, 4, 4, (3, 3), pads=(1, 1)), "pads is a tuple of 4 .* least 0"),
        (lambda: ops.Conv2d(1, 8, 8, 4, 4, (3, 3), groups=0), "groups is a whole number"),
        (lambda: ops.Dense(8, 8.5, 8), r"features_in=8.5"),
        (lambda: ops.Dense(8, -8, 8), r"features_in is a whole number of at least 1"),
        (lambda: ops.Dense(True, 8, 8), r"rows=True"),
        (lambda: ops.Dense(8, 8, 8, 1), r"bias=1.: bias is True or False"),
        (lambda: ops.Activation(ops.Gelu(), 1000), "a tuple of at least one function"),
        (lambda: ops.Activation((ops.Gelu,), 1000), r"as in Activation\(\(Silu\(\)"),
        (lambda: ops.Clip("a", 1.0), r"Clip\(low='a'\): low is a number, or None"),
        (lambda: ops.Concat((3, 4), 0), r"shapes is a tuple of tuples of whole numbers"),
        (lambda: ops.Pool2d("max", 1, 8, 8, 4, 2), r"Pool2d\(kernel=2\)"),
        (lambda: ops.Requantized(ops.Dense(8, 4, 4, dtype="int8"), "int9"), "to is one of"),
    ],
)  # fmt: skip
def test_what_a_field_is_is_said(make: Any, said: str):
    with pytest.raises(ExpressionError, match=said):
        make()


def test_names_of_float32_stay():
    assert fields.of("float32") == ""
