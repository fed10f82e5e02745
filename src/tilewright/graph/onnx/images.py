"""Import the operators on images: convolution, normalisation, pooling."""

from __future__ import annotations

from tilewright.graph.ir import Shape
from tilewright.graph.onnx.source import Refusal, Source
from tilewright.ops.program import Program, Step


def conv(source: Source) -> str:
    shape, weights = _image(source), source.shape(1)
    if len(weights) != len(shape):
        raise Refusal(f"its weights have the shape {weights}, its input {shape}")
    kernel = source.attribute("kernel_shape", weights[2:])
    if kernel != weights[2:]:
        raise Refusal(f"kernel_shape {kernel} is not that of its weights {weights}")
    strides, dilations = _each(source, "strides"), _each(source, "dilations")
    groups = source.attribute("group", 1)
    if groups < 1 or not all(weights):
        raise Refusal(f"{groups} groups and weights of shape {weights} make no channels")
    made = source.node(
        "conv_first",
        source.value(0),
        source.value(1),
        part="sums" if source.has(2) else "",
        strides=strides,
        pads=_pads(source, kernel, strides, dilations),
        dilations=dilations,
        groups=groups,
    )
    return source.map("add", made, _per_channel(source, 2)) if source.has(2) else made


def _per_channel(source: Source, index: int) -> str:
    """Return an input of one element a channel so that it is repeated over an image."""
    shape = source.shape(index)
    if len(shape) != 1:
        raise Refusal(f"its input {source.inputs[index]!r} has the shape {shape}, not one axis")
    full = (*shape, *(1,) * (len(source.shape()) - 2))
    return source.reshaped(source.value(index), full, part=f"input{index}")


def batch_norm(source: Source) -> str:
    shape = source.shape()
    if len(shape) < 2:
        raise Refusal(f"its input has the shape {shape}, without channels")
    if source.attribute("training_mode", 0):
        raise Refusal("it is in training mode")
    X, (scale, shift, mean, var) = source.value(), (_per_channel(source, i) for i in range(1, 5))
    epsilon = source.attribute("epsilon", 1e-5)
    root = Program(1, (
        Step("constant", (), (epsilon, source.dtype(4))), Step("add", (0, 1)), Step("sqrt", (2,)),
    ))  # fmt: skip
    deviation = source.map(root, var, part="deviation")
    factor = source.map("div", scale, deviation, part="factor")
    product = source.map("mul", mean, factor, part="product")
    addend = source.map("sub", shift, product, part="addend")
    made = Program(3, (Step("mul", (0, 1)), Step("add", (3, 2))))
    return source.map(made, X, factor, addend)


def max_pool(source: Source) -> str:
    return _pool(source, "max", count_include_pad=0)


def average_pool(source: Source) -> str:
    return _pool(source, "average", source.attribute("count_include_pad", 0))


def global_max_pool(source: Source) -> str:
    return _over_image(source, "max")


def global_average_pool(source: Source) -> str:
    return _over_image(source, "mean")


def _over_image(source: Source, kind: str) -> str:
    rank = len(_image(source))
    return source.node("reduce", source.value(), kind=kind, axes=tuple(range(2, rank)))


def _pool(source: Source, kind: str, count_include_pad: int) -> str:
    _image(source)
    kernel, strides = _each(source, "kernel_shape"), _each(source, "strides")
    if max(_each(source, "dilations")) > 1:
        raise Refusal("its window is dilated")
    pads = _pads(source, kernel, strides, (1,) * len(kernel))
    if source.attribute("ceil_mode", 0):
        overhang = _overhang(source.shape()[2:], kernel, strides, pads)
        if any(overhang) and count_include_pad:
            raise Refusal("ceil_mode together with count_include_pad")
        count = len(kernel)
        pads = (*pads[:count], *(p + o for p, o in zip(pads[count:], overhang, strict=True)))
    if any(pad >= taps for pad, taps in zip(pads, (*kernel, *kernel), strict=True)):
        raise Refusal(f"pads {pads} as large as the window {kernel}")
    return source.node(
        "pool_first",
        source.value(),
        kind=kind,
        kernel=kernel,
        strides=strides,
        pads=pads,
        count_include_pad=count_include_pad,
    )


def _overhang(size: Shape, kernel: Shape, strides: Shape, pads: Shape) -> Shape:
    """Return the further padding behind for the last windows that ceil_mode asks for.

    A window that would begin behind the image and its leading padding is left out.
    """
    more: list[int] = []
    for axis in range(len(size)):
        padded = size[axis] + pads[axis] + pads[axis + len(size)]
        last = -((kernel[axis] - padded) // strides[axis])
        if last * strides[axis] >= size[axis] + pads[axis]:
            last -= 1
        more.append(max(0, last * strides[axis] + kernel[axis] - padded))
    return tuple(more)


def _image(source: Source) -> Shape:
    """Return the shape of the input, an image of one to three dimensions in a batch."""
    shape = source.shape()
    if not 3 <= len(shape) <= 5:
        raise Refusal(f"its input has the shape {shape}, which is no image in a batch")
    return shape


def _each(source: Source, name: str) -> Shape:
    """Return an attribute of one number for each dimension of the image."""
    count = len(source.shape()) - 2
    each = source.attribute(name, (1,) * count)
    if len(each) != count or min(each) < 1:
        raise Refusal(f"{name} {each} are not {count} positive numbers")
    return each


def _pads(source: Source, kernel: Shape, strides: Shape, dilations: Shape) -> Shape:
    """Return the padding as top, left, bottom, right, automatic padding worked out.

    SAME makes ceil(size / stride) windows. Strides beyond the window may need less than the image:
    that the last element is not read is all the same, but with more left over onnxruntime (1.32)
    fails to pool, and its convolutions begin elsewhere than others, so such nodes are refused.
    """
    mode = source.attribute("auto_pad", "NOTSET")
    if mode == "VALID":
        return (0,) * (2 * len(kernel))
    if mode == "NOTSET":
        pads = source.attribute("pads", (0,) * (2 * len(kernel)))
        if len(pads) != 2 * len(kernel) or min(pads) < 0:
            raise Refusal(f"pads {pads} are not {2 * len(kernel)} that are not negative")
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
