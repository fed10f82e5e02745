"""Which of PyTorch's operators are understood, and by which function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch._ops import OpOverload

from tilewright.graph.torch import images, matrices, movement, pointwise, rows
from tilewright.graph.torch.source import Made, Source

# Each adds nodes for its source and returns the graph's name of the result, or of the first ones.
# A name without an overload stands for all overloads of the operator.
IMPORTERS: Mapping[str, Callable[[Source], Made]] = {
    "aten._adaptive_avg_pool2d": images.adaptive_average_pool,
    "aten._log_softmax": rows.softmax(1),
    "aten._native_batch_norm_legit_no_training": rows.batch_norm,
    "aten._native_batch_norm_legit.no_stats": rows.batch_norm_by_itself,
    "aten._scaled_dot_product_flash_attention_for_cpu": matrices.attention,
    "aten._softmax": rows.softmax(0),
    "aten._to_copy": pointwise.cast,
    "aten._unsafe_view": movement.reshape,
    "aten.abs": pointwise.unary("abs"),
    "aten.acos": pointwise.unary("acos"),
    "aten.acosh": pointwise.unary("acosh"),
    "aten.add": pointwise.added("add"),
    "aten.addmm": matrices.added("mat1", "mat2"),
    "aten.alias": pointwise.same,
    "aten.all": rows.every("min"),
    "aten.amax": rows.reduced("max"),
    "aten.amin": rows.reduced("min"),
    "aten.any": rows.every("max"),
    "aten.argmax": rows.place("max"),
    "aten.argmin": rows.place("min"),
    "aten.as_strided": movement.restrided,
    "aten.asin": pointwise.unary("asin"),
    "aten.asinh": pointwise.unary("asinh"),
    "aten.atan": pointwise.unary("atan"),
    "aten.atanh": pointwise.unary("atanh"),
    "aten.avg_pool1d": images.average_pool,
    "aten.avg_pool2d": images.average_pool,
    "aten.avg_pool3d": images.average_pool,
    "aten.baddbmm": matrices.added("batch1", "batch2"),
    "aten.bitwise_and": pointwise.bits("bit_and", "and"),
    "aten.bitwise_not": pointwise.invert,
    "aten.bitwise_or": pointwise.bits("bit_or", "or"),
    "aten.bitwise_xor": pointwise.bits("bit_xor", "not_equal"),
    "aten.bmm": matrices.product("self", "mat2"),
    "aten.cat": movement.cat,
    "aten.ceil": pointwise.unary("ceil"),
    "aten.clamp": pointwise.clamp,
    "aten.clone": pointwise.same,
    "aten.constant_pad_nd": movement.pad,
    "aten.convolution": images.convolution,
    "aten.copy": pointwise.copy,
    "aten.cos": pointwise.unary("cos"),
    "aten.cosh": pointwise.unary("cosh"),
    "aten.detach": pointwise.same,
    "aten.div": pointwise.divide,
    "aten.elu": pointwise.elu,
    "aten.embedding": movement.embedding,
    "aten.eq": pointwise.binary("equal"),
    "aten.erf": pointwise.unary("erf"),
    "aten.exp": pointwise.unary("exp"),
    "aten.expand": movement.expand,
    "aten.expm1": pointwise.expm1,
    "aten.flip": movement.flip,
    "aten.floor": pointwise.unary("floor"),
    "aten.fmod": pointwise.binary("fmod"),
    "aten.full_like": pointwise.full,
    "aten.gather": movement.gather,
    "aten.ge": pointwise.binary("less_equal", swapped=True),
    "aten.gelu": pointwise.gelu,
    "aten.gt": pointwise.binary("less", swapped=True),
    "aten.hardsigmoid": pointwise.unary("hard_sigmoid", 1 / 6, 0.5),
    "aten.hardswish": pointwise.unary("hard_swish"),
    "aten.hardtanh": pointwise.hardtanh,
    "aten.index.Tensor": movement.index,
    "aten.index_select": movement.index_select,
    "aten.isinf": pointwise.is_infinite,
    "aten.isnan": pointwise.judged("is_nan"),
    "aten.le": pointwise.binary("less_equal"),
    "aten.leaky_relu": pointwise.leaky_relu,
    "aten.linalg_vector_norm": rows.norm,
    "aten.linear": matrices.linear,
    "aten.log": pointwise.unary("log"),
    "aten.log10": pointwise.scaled("log", 0.4342944819032518),
    "aten.log1p": pointwise.unary("log1p"),
    "aten.log2": pointwise.scaled("log", 1.4426950408889634),
    "aten.logical_and": pointwise.logical("and"),
    "aten.logical_not": pointwise.negated,
    "aten.logical_or": pointwise.logical("or"),
    "aten.logical_xor": pointwise.logical("not_equal"),
    "aten.lt": pointwise.binary("less"),
    "aten.max.default": rows.reduced("max"),
    "aten.max.dim": rows.greatest("max"),
    "aten.max_pool2d_with_indices": images.max_pool,
    "aten.max_pool3d_with_indices": images.max_pool,
    "aten.maximum": pointwise.binary("max"),
    "aten.mean": rows.reduced("mean"),
    "aten.min.default": rows.reduced("min"),
    "aten.min.dim": rows.greatest("min"),
    "aten.minimum": pointwise.binary("min"),
    "aten.mish": pointwise.unary("mish"),
    "aten.mm": matrices.product("self", "mat2"),
    "aten.mul": pointwise.binary("mul"),
    "aten.mv": matrices.product("self", "vec", vector=True),
    "aten.native_group_norm": rows.group_norm,
    "aten.native_layer_norm": rows.layer_norm,
    "aten.ne": pointwise.binary("not_equal"),
    "aten.neg": pointwise.unary("neg"),
    "aten.permute": movement.permute,
    "aten.pow": pointwise.power,
    "aten.prod": rows.reduced("prod"),
    "aten.reciprocal": pointwise.inverse("identity"),
    "aten.reflection_pad1d": movement.reflect,
    "aten.reflection_pad2d": movement.reflect,
    "aten.relu": pointwise.unary("relu"),
    "aten.remainder": pointwise.binary("mod"),
    "aten.repeat": movement.repeat,
    "aten.replication_pad1d": movement.replicate,
    "aten.replication_pad2d": movement.replicate,
    "aten.round": pointwise.rounded,
    "aten.rsqrt": pointwise.inverse("sqrt"),
    "aten.select.int": movement.select,
    "aten.select_scatter": movement.select_scatter,
    "aten.sigmoid": pointwise.unary("sigmoid"),
    "aten.sign": pointwise.unary("sign"),
    "aten.silu": pointwise.unary("silu"),
    "aten.sin": pointwise.unary("sin"),
    "aten.sinh": pointwise.unary("sinh"),
    "aten.slice.Tensor": movement.slice_,
    "aten.slice_scatter": movement.slice_scatter,
    "aten.softplus": pointwise.softplus,
    "aten.split.Tensor": movement.split,
    "aten.split_with_sizes": movement.split,
    "aten.sqrt": pointwise.unary("sqrt"),
    "aten.squeeze": movement.reshape,
    "aten.sub": pointwise.added("sub"),
    "aten.sum": rows.reduced("sum"),
    "aten.t": movement.swap,
    "aten.tan": pointwise.unary("tan"),
    "aten.tanh": pointwise.unary("tanh"),
    "aten.transpose.int": movement.swap,
    "aten.trunc": pointwise.trunc,
    "aten.unbind": movement.unbind,
    "aten.unsqueeze": movement.reshape,
    "aten.upsample_bilinear2d": images.linear,
    "aten.upsample_linear1d": images.linear,
    "aten.upsample_nearest1d": images.nearest,
    "aten.upsample_nearest2d": images.nearest,
    "aten.var.correction": rows.variance,
    "aten.var_mean.correction": rows.variance_and_mean,
    "aten.view": movement.reshape,
    "aten.where.self": pointwise.where,
    "prims.convert_element_type": pointwise.cast,
}

# Those that compute nothing: alone they are not worth a call.
MOVES = frozenset(
    f"aten.{name}"
    for name in (
        "_unsafe_view", "alias", "clone", "detach", "expand", "permute", "select", "slice", "split",
        "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unsqueeze", "view",
    )
)  # fmt: skip


def importer_of(target: Any) -> Callable[[Source], Made] | None:
    """Return the importer of an overload of an operator, if there is one."""
    if not isinstance(target, OpOverload):
        return None
    return IMPORTERS.get(str(target)) or IMPORTERS.get(name_of(target))


def name_of(target: Any) -> str:
    """Return the name of an operator without its overload."""
    return str(getattr(target, "overloadpacket", target))
