"""Import the operators on single elements, and those that only copy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from tilewright import dtypes
from tilewright.graph.torch.source import Refusal, Source
from tilewright.graph.torch.tensors import DTYPES
from tilewright.ops.program import Program, Step

Importer = Callable[[Source], str]


def unary(name: str, *parameters: float) -> Importer:
    """Return the importer of one function of an element, computed in the result's type."""

    def imported(source: Source) -> str:
        ((_, dtype),) = source.results
        return source.map(Program.of(name, 1, *parameters), source.operand("self", dtype))

    return imported


def judged(name: str) -> Importer:
    """Return the importer of a function that tells of an element, computed in its own type."""
    return lambda source: source.map(name, source.value())


def scaled(name: str, factor: float) -> Importer:
    """Return the importer of a function times a number."""

    def imported(source: Source) -> str:
        ((_, dtype),) = source.results
        steps = (Step(name, (0,)), Step("constant", (), (factor, dtype)), Step("mul", (1, 2)))
        return source.map(Program(1, steps), source.operand("self", dtype))

    return imported


def inverse(name: str) -> Importer:
    """Return the importer of one divided by a function."""

    def imported(source: Source) -> str:
        ((_, dtype),) = source.results
        steps = (Step(name, (0,)), Step("constant", (), (1.0, dtype)), Step("div", (2, 1)))
        return source.map(Program(1, steps), source.operand("self", dtype))

    return imported


def binary(name: str, *, swapped: bool = False) -> Importer:
    """Return the importer of a function of two, tensors or numbers, in their common type."""

    def imported(source: Source) -> str:
        a, b = pair(source, common(source))
        return source.map(name, b, a) if swapped else source.map(name, a, b)

    return imported


def logical(name: str) -> Importer:
    """Return the importer of a function of two truths."""

    def imported(source: Source) -> str:
        return source.map(name, *pair(source, "bool"))

    return imported


def bits(name: str, truths: str) -> Importer:
    """Return the importer of a function of the bits of two, or of two truths."""

    def imported(source: Source) -> str:
        dtype = common(source)
        return source.map(truths if dtype == "bool" else name, *pair(source, dtype))

    return imported


def pair(source: Source, dtype: str) -> tuple[str, str]:
    return source.operand("self", dtype), source.operand(_other(source), dtype)


def _other(source: Source) -> str:
    return "other" if source.has("other") else "exponent"


def common(source: Source) -> str:
    """Return the type that PyTorch computes two operands in."""
    a, b = (_example(source.raw(name)) for name in ("self", _other(source)))
    if not isinstance(a, torch.Tensor) and not isinstance(b, torch.Tensor):
        raise Refusal("neither operand is a tensor")
    return _named(torch.result_type(a, b))


def _example(value: Any) -> Any:
    return value.meta["val"] if isinstance(value, fx.Node) else value


def _named(dtype: torch.dtype) -> str:
    if dtype not in DTYPES:
        raise Refusal(f"nothing is computed in {dtype}")
    return DTYPES[dtype]


def added(function: str) -> Importer:
    """Return the importer of a sum or difference, of which alpha scales the second operand."""

    def imported(source: Source) -> str:
        dtype = common(source)
        a, b = pair(source, dtype)
        alpha = source.argument("alpha", 1)
        if alpha != 1:
            b = source.map("mul", b, source.number(alpha, dtype, "alpha"))
        return source.map(function, a, b)

    return imported


def divide(source: Source) -> str:
    ((_, dtype),) = source.results
    a, b = pair(source, dtype)
    mode = source.argument("rounding_mode", "")
    if not mode:
        return source.map("div", a, b)
    if not dtypes.is_float(dtype):
        apart = (Step("mod", (0, 1)), Step("sub", (0, 2)), Step("div", (3, 1)))
        return source.map(Program.of("div", 2) if mode == "trunc" else Program(2, apart), a, b)
    if mode == "trunc":
        return source.map(truncated(dtype), source.map("div", a, b))
    steps = (Step("mod", (0, 1)), Step("sub", (0, 2)), Step("div", (3, 1)), Step("rint", (4,)))
    return source.map(Program(2, steps), a, b)


def trunc(source: Source) -> str:
    return source.map(truncated(source.dtype()), source.value())


def truncated(dtype: str) -> Program:
    return Program(1, (
        Step("constant", (), (0.0, dtype)), Step("less", (0, 1)), Step("ceil", (0,)),
        Step("floor", (0,)), Step("select", (2, 3, 4)),
    ))  # fmt: skip


def power(source: Source) -> str:
    ((_, dtype),) = source.results
    a, b = pair(source, dtype)
    if source.raw("exponent") == 2:
        return source.map(Program(1, (Step("mul", (0, 0)),)), a)
    return source.map("pow", a, b)


def where(source: Source) -> str:
    ((_, dtype),) = source.results
    given = source.operand("self", dtype), source.operand("other", dtype)
    return source.map("select", source.operand("condition", "bool"), *given)


def clamp(source: Source) -> str:
    """Keep between bounds, of which either may be missing: numbers or tensors."""
    ((_, dtype),) = source.results
    made = source.operand("self", dtype)
    for function, name in ("max", "min"), ("min", "max"):
        if source.has(name):
            made = source.map(function, made, source.operand(name, dtype))
    return made


def hardtanh(source: Source) -> str:
    dtype = source.dtype()
    low, high = (source.number(source.argument(name), dtype) for name in ("min_val", "max_val"))
    return source.map("min", source.map("max", source.value(), low), high)


def leaky_relu(source: Source) -> str:
    slope = float(source.argument("negative_slope"))
    return source.map(Program.of("leaky_relu", 1, slope), source.value())


def elu(source: Source) -> str:
    alpha, scale, inner = (float(source.argument(n)) for n in ("alpha", "scale", "input_scale"))
    if inner != 1.0:
        raise Refusal(f"its input_scale is {inner}")
    made = source.map(Program.of("elu", 1, alpha), source.value())
    return made if scale == 1.0 else source.map("mul", made, source.number(scale, source.dtype()))


def gelu(source: Source) -> str:
    tanh = int(source.argument("approximate", "none") == "tanh")
    return source.map(Program.of("gelu", 1, tanh), source.value())


def softplus(source: Source) -> str:
    beta, threshold = source.argument("beta", 1), source.argument("threshold", 20)
    if threshold < 20:
        raise Refusal(f"its threshold is {threshold}")
    if beta == 1:
        return source.map("softplus", source.value())
    factor = Step("constant", (), (float(beta), source.dtype()))
    steps = (factor, Step("mul", (0, 1)), Step("softplus", (2,)), Step("div", (3, 1)))
    return source.map(Program(1, steps), source.value())


def expm1(source: Source) -> str:
    """exp(x) - 1, near zero as well: tanh(x / 2) * (exp(x) + 1)."""
    ((_, dtype),) = source.results
    steps = (
        Step("constant", (), (0.5, dtype)), Step("mul", (0, 1)), Step("tanh", (2,)),
        Step("exp", (0,)), Step("constant", (), (1.0, dtype)), Step("add", (4, 5)),
        Step("mul", (3, 6)),
    )  # fmt: skip
    return source.map(Program(1, steps), source.operand("self", dtype))


def full(source: Source) -> str:
    """Fill a tensor of another's shape with a number."""
    ((shape, dtype),) = source.results
    value = source.number(source.argument("fill_value"), dtype)
    return source.repeated(value, shape)


def is_infinite(source: Source) -> str:
    steps = (Step("abs", (0,)), Step("constant", (), (math.inf, source.dtype())),
             Step("equal", (1, 2)))  # fmt: skip
    return source.map(Program(1, steps), source.value())


def rounded(source: Source) -> str:
    if source.argument("decimals", 0):
        raise Refusal("it rounds to decimals")
    return source.map("rint", source.value())


def negated(source: Source) -> str:
    return source.map("not", source.operand("self", "bool"))


def invert(source: Source) -> str:
    return source.map("not" if source.dtype() == "bool" else "bit_not", source.value())


def same(source: Source) -> str:
    return source.value()


def cast(source: Source) -> str:
    """Return the argument in the result's type; where it lies in memory is not said here."""
    ((_, dtype),) = source.results
    return source.cast(source.value("a" if source.has("a") else "self"), dtype)


def copy(source: Source) -> str:
    ((shape, dtype),) = source.results
    return source.repeated(source.cast(source.value("src"), dtype), shape)
