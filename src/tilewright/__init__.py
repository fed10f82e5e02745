"""tilewright learns to optimize tensor programs.

Say what to compute (`tensor`, `compute`, `sum`, or `load_onnx`), let `tune` search how, and `build`
or `compile` the fastest code found. The rest is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tilewright import errors
from tilewright.expr.axis import Axis, reduce_axis
from tilewright.expr.functions import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    cast,
    ceil,
    cos,
    cosh,
    erf,
    exp,
    floor,
    fmod,
    isinf,
    isnan,
    left_shift,
    log,
    log1p,
    maximum,
    minimum,
    mod,
    right_shift,
    rint,
    select,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)
from tilewright.expr.reductions import max, min, prod, sum
from tilewright.expr.scalar import equal, not_equal, power
from tilewright.expr.table import table
from tilewright.expr.tensor import Tensor, compute, tensor
from tilewright.schedule.schedule import Schedule
from tilewright.target import Target, host

__version__ = "0.1.0"

if TYPE_CHECKING:  # what `__getattr__` loads on first use
    from tilewright import features as features
    from tilewright import measure as measure
    from tilewright import models as models
    from tilewright import ops as ops
    from tilewright import search as search
    from tilewright import testing as testing
    from tilewright.graph.compile import compile as compile
    from tilewright.graph.model import load_onnx as load_onnx
    from tilewright.graph.rehearse import rehearse as rehearse
    from tilewright.graph.twm import load as load
    from tilewright.ops.op import op as op
    from tilewright.records.store import Records as Records
    from tilewright.runtime.build import build as build
    from tilewright.runtime.build import emit as emit
    from tilewright.runtime.kernel import Kernel as Kernel
    from tilewright.space.knobs import Knobs as Knobs
    from tilewright.tuning.learn import learn as learn
    from tilewright.tuning.task import Task as Task
    from tilewright.tuning.tune import tune as tune

_LAZY = {
    "Knobs": "tilewright.space.knobs:Knobs",
    "Task": "tilewright.tuning.task:Task",
    "tune": "tilewright.tuning.tune:tune",
    "learn": "tilewright.tuning.learn:learn",
    "build": "tilewright.runtime.build:build",
    "emit": "tilewright.runtime.build:emit",
    "Kernel": "tilewright.runtime.kernel:Kernel",
    "Records": "tilewright.records.store:Records",
    "load": "tilewright.graph.twm:load",
    "load_onnx": "tilewright.graph.model:load_onnx",
    "compile": "tilewright.graph.compile:compile",
    "rehearse": "tilewright.graph.rehearse:rehearse",
    "op": "tilewright.ops.op:op",
    "ops": "tilewright.ops",
    "search": "tilewright.search",
    "models": "tilewright.models",
    "features": "tilewright.features",
    "measure": "tilewright.measure",
    "testing": "tilewright.testing",
}

__all__ = [
    "Axis",
    "Kernel",
    "Knobs",
    "Records",
    "Schedule",
    "Target",
    "Task",
    "Tensor",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "build",
    "cast",
    "ceil",
    "compile",
    "compute",
    "cos",
    "cosh",
    "emit",
    "equal",
    "erf",
    "errors",
    "exp",
    "features",
    "floor",
    "fmod",
    "host",
    "isinf",
    "isnan",
    "learn",
    "left_shift",
    "load",
    "load_onnx",
    "log",
    "log1p",
    "max",
    "maximum",
    "measure",
    "min",
    "minimum",
    "mod",
    "models",
    "not_equal",
    "op",
    "ops",
    "power",
    "prod",
    "reduce_axis",
    "rehearse",
    "right_shift",
    "rint",
    "search",
    "select",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "sum",
    "table",
    "tan",
    "tanh",
    "tensor",
    "testing",
    "trunc",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"tilewright has no {name!r}; it has {', '.join(sorted(__all__))}.")
    module, _, attribute = _LAZY[name].partition(":")
    loaded = import_module(module)
    value = getattr(loaded, attribute) if attribute else loaded
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
