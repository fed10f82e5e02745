"""Import the operators on images: convolution, normalisation, pooling."""

from __future__ import annotations

from tilewright.graph.ir import Shape
from tilewright.graph.onnx.source import Refusal, Source


def conv(source: Source) -> str:
    _rank4(source)
    W = source.constant(1, "weights")
    if W.ndim != 4:
        raise Refusal(f"its weights have the shape {W.shape} instead of four axes")
    kernel = source.attribute("kernel_shape", W.shape[2:])
    if kernel != W.shape[2:]:
        raise Refusal(f"kernel_shape {kernel} is not that of its weights {W.shape}")
    strides, dilations = _pair(source, "strides"), _pair(source, "dilations")
    groups = source.attribute("group", 1)
    if groups < 1 or not W.size:
        raise Refusal(f"{groups} groups and weights of shape {W.shape} make no channels")
    operands = [source.value(0), source.value(1)]
    if source.has(2):
        source.constant(2, "bias")
        operands.append(source.value(2))
    return source.node(
        "conv2d_nchw",
        *operands,
        strides=strides,
        pads=_pads(source, kernel, strides, dilations),
        dilations=dilations,
        groups=groups,
        bias=int(source.has(2)),
    )


def batch_norm(source: Source) -> str:
    _rank4(source)
    if source.attribute("training_mode", 0):
        raise Refusal("it is in training mode")
    for index, what in enumerate(("scale", "shift", "mean", "variance"), 1):
        source.constant(index, what)
    return source.node(
        "batch_norm_nchw",
        *(source.value(index) for index in range(5)),
        epsilon=source.attribute("epsilon", 1e-5),
    )


def max_pool(source: Source) -> str:
    return _pool(source, "max", count_include_pad=0)


def average_pool(source: Source) -> str:
    return _pool(source, "average", source.attribute("count_include_pad", 0))


def global_max_pool(source: Source) -> str:
    _rank4(source)
    return source.node(
        "pool2d_nchw",
        source.value(),
        kind="max",
        kernel=source.shape()[2:],
        strides=(1, 1),
        pads=(0, 0, 0, 0),
        count_include_pad=0,
    )


def global_average_pool(source: Source) -> str:
    n, c, _, _ = _rank4(source)
    pooled = source.node("global_average_pool_nchw", source.value(), part="pooled")
    return source.node("reshape", pooled, shape=(n, c, 1, 1))


def reduce_mean(source: Source) -> str:
    n, c, _, _ = _rank4(source)
    axes = source.numbers("axes", 1)
    if axes is None or set(source.axes(axes, 4)) != {2, 3}:
        raise Refusal(f"it averages over axes {axes}, not over the two of the image")
    if not source.attribute("keepdims", 1):
        return source.node("global_average_pool_nchw", source.value())
    pooled = source.node("global_average_pool_nchw", source.value(), part="pooled")
    return source.node("reshape", pooled, shape=(n, c, 1, 1))


def _pool(source: Source, kind: str, count_include_pad: int) -> str:
    _rank4(source)
    kernel, strides = _pair(source, "kernel_shape"), _pair(source, "strides")
    if _pair(source, "dilations") != (1, 1):
        raise Refusal("its window is dilated")
    pads = _pads(source, kernel, strides, (1, 1))
    if source.attribute("ceil_mode", 0):
        overhang = _overhang(source.shape()[2:], kernel, strides, pads)
        if any(overhang) and count_include_pad:
            raise Refusal("ceil_mode together with count_include_pad")
        pads = (pads[0], pads[1], pads[2] + overhang[0], pads[3] + overhang[1])
    if any(pad >= taps for pad, taps in zip(pads, (*kernel, *kernel), strict=True)):
        raise Refusal(f"pads {pads} as large as the window {kernel}")
    return source.node(
        "pool2d_nchw",
        source.value(),
        kind=kind,
        kernel=kernel,
        strides=strides,
        pads=pads,
        count_include_pad=count_include_pad,
    )


def _overhang(size: Shape, kernel: Shape, strides: Shape, pads: Shape) -> tuple[int, int]:
    """Return the further padding below and right for the last windows that ceil_mode asks for.

    A window that would begin behind the image and its leading padding is left out.
    """
    more: list[int] = []
    for axis in (0, 1):
        padded = size[axis] + pads[axis] + pads[axis + 2]
        last = -((kernel[axis] - padded) // strides[axis])
        if last * strides[axis] >= size[axis] + pads[axis]:
            last -= 1
        more.append(max(0, last * strides[axis] + kernel[axis] - padded))
    return more[0], more[1]


def _rank4(source: Source) -> Shape:
    shape = source.shape()
    if len(shape) != 4:
        raise Refusal(f"its input has the shape {shape}; only 2-d images in batches are supported")
    return shape


def _pair(source: Source, name: str) -> Shape:
    pair = source.attribute(name, (1, 1))
    if len(pair) != 2 or min(pair) < 1:
        raise Refusal(f"{name} {pair} are not two positive numbers")
    return pair


def _pads(source: Source, kernel: Shape, strides: Shape, dilations: Shape) -> Shape:
    """Return the padding as top, left, bottom, right, automatic padding worked out.

    SAME makes ceil(size / stride) windows. Strides beyond the window may need less than the image:
    that the last element is not read is all the same, but with more left over onnxruntime (1.32)
    fails to pool, and its convolutions begin elsewhere than others, so such nodes are refused.
    """
    mode = source.attribute("auto_pad", "NOTSET")
    if mode == "VALID":
        return (0, 0, 0, 0)
    if mode == "NOTSET":
        pads = source.attribute("pads", (0, 0, 0, 0))
        if len(pads) != 4 or min(pads) < 0:
            raise Refusal(f"pads {pads} are not four that are not negative")
        return pads
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise Refusal(f"auto_pad {mode!r} is none of NOTSET, VALID, SAME_UPPER and SAME_LOWER")
    before: list[int] = []
    after: list[int] = []
    for axis, size in enumerate(source.shape()[2:]):
        steps = -(-size // strides[axis]) - 1
        reach = dilations[axis] * (kernel[axis] - 1) + 1
        total = steps * strides[axis] + reach - size
        if total < -1:
            raise Refusal(
                f"auto_pad {mode} with strides {strides} beyond the window {kernel} leaves open "
                "which elements are read; state pads instead"
            )
        total = max(0, total)
        small, large = total // 2, total - total // 2
        before.append(large if mode == "SAME_LOWER" else small)
        after.append(small if mode == "SAME_LOWER" else large)
    return (*before, *after)
