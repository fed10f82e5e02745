"""Random nodes of layers: convolutions, pools, products, normalisations, recurrent cells."""

from __future__ import annotations

from typing import Any

from tests.networks.growing import FLOAT, Growing, Refused


def window(g: Growing, count: int, *, dilated: bool = True) -> dict[str, Any]:
    """Draw a window: kernel, strides, dilations, and pads of any of ONNX's kinds."""
    made: dict[str, Any] = {"kernel_shape": [g.some(1, 1, 2, 3, 3, 4) for _ in range(count)]}
    if g.chance(0.5):
        made["strides"] = [g.some(1, 1, 2, 3) for _ in range(count)]
    if dilated and g.chance(0.3):
        made["dilations"] = [g.some(1, 2, 3) for _ in range(count)]
    kind = g.some("none", "same", "any", "any", "upper", "lower")
    if kind == "any":
        made["pads"] = [g.some(0, 1, 1, 2) for _ in range(2 * count)]
    elif kind == "same":
        made["pads"] = [(k - 1) // 2 for k in made["kernel_shape"]] * 2
    elif kind in ("upper", "lower") and "dilations" not in made:
        made["auto_pad"] = f"SAME_{kind.upper()}"
    return made


def within(g: Growing, x: str, made: dict[str, Any]) -> dict[str, Any]:
    """Refuse windows that are larger than the image, or of which it is open where they lie.

    ONNX Runtime makes something of these all the same.
    """
    kernel = made["kernel_shape"]
    dilations, pads = made.get("dilations", [1] * 3), made.get("pads", [0] * 6)
    for i, extent in enumerate(g.shape(x)[2:]):
        padded = extent + pads[i] + pads[i + len(kernel)]
        if "auto_pad" not in made and (kernel[i] - 1) * dilations[i] + 1 > padded:
            raise Refused("a window larger than its image")
        if "auto_pad" in made and made.get("strides", kernel)[i] > kernel[i]:
            raise Refused("steps beyond the window")
    return made


def image(g: Growing) -> str:
    return g.tensor(4, 4, 4, 3, 5)


def groups_of(g: Growing, channels: int) -> int:
    if g.chance(0.6):
        return 1
    return g.some(channels, *(n for n in range(1, channels + 1) if channels % n == 0))


def conv(g: Growing) -> str:
    x = image(g)
    channels = g.shape(x)[1]
    made = window(g, len(g.shape(x)) - 2)
    groups = groups_of(g, channels)
    filters = groups * g.some(1, 1, 2, 3, 5, 8, 16, 17)
    inputs = [x, g.weight(filters, channels // groups, *made["kernel_shape"])]
    if g.chance(0.6):
        inputs.append(g.weight(filters))
    return g.node("Conv", inputs, group=groups, **made)


def winograd(g: Growing) -> str:
    """A convolution of a kind that faster algorithms take."""
    size, depth = g.some(5, 8, 11, 14), g.some(3, 8, 16, 17)
    there = [n for n, a in g.values.items() if a.ndim == 4 and a.dtype == g.float]
    x = g.some(*there) if there else g.input(g.numbers((g.some(1, 2), depth, size, size)))
    stride, kernel = g.some(1, 1, 2), g.some(3, 3, 3, 5)
    weight = g.weight(g.some(8, 16, 24), g.shape(x)[1], kernel, kernel)
    pads = [g.some(0, 1)] * 4 if g.chance(0.8) else [g.some(0, 1, 2) for _ in range(4)]
    return g.node("Conv", [x, weight], strides=[stride] * 2, pads=pads)


def strassen(g: Growing) -> str:
    """A product of a size from which Strassen's algorithm is tried, with what may follow it."""
    rows, depth, width = g.some(48, 49, 51, 55), g.some(96, 97, 100), g.some(96, 97, 104)
    if g.chance(0.5):
        x = g.input(g.numbers((1, depth, 7, 7)))
        made = g.node("Conv", [x, g.constant(g.numbers((width, depth, 1, 1)))])
    else:
        shape = g.some((rows, depth), (rows, depth), (1, rows, depth), (2, rows // 2, depth))
        x = g.input(g.numbers(shape))
        made = g.node("MatMul", [x, g.constant(g.numbers((depth, width)))])
    if g.chance(0.5):
        made = g.node("Add", [made, g.constant(g.numbers(g.some((), (1,), g.shape(made)[-1:])))])
    return g.node("Relu", [made]) if g.chance(0.5) else made


def conv_transpose(g: Growing) -> str:
    x = image(g)
    channels = g.shape(x)[1]
    made = window(g, len(g.shape(x)) - 2)
    groups = groups_of(g, channels)
    if g.chance(0.3):
        made["output_padding"] = [g.some(0, 1) for _ in made["kernel_shape"]]
    inputs = [x, g.weight(channels, g.some(1, 2, 3, 8), *made["kernel_shape"])]
    if g.chance(0.5):
        inputs.append(g.weight(g.shape(inputs[1])[1] * groups))
    steps = made.get("strides", [1] * len(made["kernel_shape"]))
    if "auto_pad" in made and any(s > k for s, k in zip(steps, made["kernel_shape"], strict=True)):
        raise Refused("steps beyond the window: the standard pads by less than nothing")
    return g.node("ConvTranspose", inputs, group=groups, **made)


def pool(g: Growing) -> str:
    x, op = image(g), g.some("MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool")
    dilated = (op == "MaxPool" and g.opset >= 10) or g.opset >= 19
    made = window(g, len(g.shape(x)) - 2, dilated=dilated)
    if op == "AveragePool" and g.chance(0.5):
        made["count_include_pad"] = 1
    if op != "LpPool" and g.opset >= 10 and g.chance(0.4):
        made["ceil_mode"] = 1
    return g.node(op, [x], **within(g, x, made))


def global_pool(g: Growing) -> str:
    return g.node(g.some("GlobalAveragePool", "GlobalMaxPool"), [image(g)])


def gemm(g: Growing) -> str:
    a = g.tensor(2)
    turned, also = g.some(0, 0, 1), g.some(0, 1)
    m, k = g.shape(a)[:: -1 if turned else 1]
    n = g.some(1, 2, 3, 5, 8, 16, 17, 40)
    inputs = [a, g.weight(*((n, k) if also else (k, n)))]
    if g.opset < 11 or g.chance(0.7):
        inputs.append(g.weight(*g.some((n,), (1, n), (m, n), (m, 1), (1,))))
    scales = {"alpha": g.some(1.0, 1.0, 0.5), "beta": g.some(1.0, 1.0, -2.0)}
    return g.node("Gemm", inputs, transA=turned, transB=also, **scales)


def matmul(g: Growing) -> str:
    a = g.tensor(1, 2, 2, 3, 3, 4)
    shape = g.shape(a)
    n = (g.some(1, 2, 3, 7, 8, 16, 33),) if g.chance(0.95) else ()
    batch = tuple(d if g.chance(0.6) else 1 for d in shape[:-2])
    batch = g.some((), batch, batch[g.pick.randrange(len(batch) + 1) :])
    return g.node("MatMul", [a, g.weight(*(batch if n else ()), shape[-1], *n)])


def square(g: Growing) -> str:
    """A product of two values that are computed, one of them turned."""
    a = g.tensor(2, 3, 4)
    order = [*range(len(g.shape(a)) - 2), len(g.shape(a)) - 1, len(g.shape(a)) - 2]
    turned = g.node("Transpose", [a], perm=order)
    return g.node("MatMul", [a, turned] if g.chance(0.5) else [turned, a])


def einsum(g: Growing) -> str:
    a = g.tensor(3)
    b, i, j = g.shape(a)
    equation, shape = g.some(
        ("bij,bjk->bik", (b, j, 5)), ("bij,kj->bki", (3, j)), ("bij,bij->bi", (b, i, j)),
        ("bij,jk->bik", (j, 7)), ("bij,bi->bj", (b, i)), ("bij,k->kbij", (3,)),
    )  # fmt: skip
    return g.node("Einsum", [a, g.weight(*shape)], equation=equation)


def batch_norm(g: Growing) -> str:
    x = g.tensor(2, 3, 4, 4, 5)
    channels = g.shape(x)[1]
    variance = g.constant(g.rng.uniform(0.05, 3, channels), FLOAT)
    names = [g.constant(g.numbers((channels,))) for _ in range(3)]
    return g.node("BatchNormalization", [x, *names, variance], epsilon=g.some(1e-5, 1e-3))


def instance_norm(g: Growing) -> str:
    x = image(g)
    names = [g.weight(g.shape(x)[1]) for _ in range(2)]
    return g.node("InstanceNormalization", [x, *names])


def layer_norm(g: Growing) -> str:
    if g.opset < 17:
        raise Refused("ONNX Runtime's own")
    x = g.tensor(2, 3, 4)
    axis = g.some(-1, -1, 1, len(g.shape(x)) - 1)
    shape = g.shape(x)[axis:]
    names = [g.weight(*shape) for _ in range(g.some(1, 2))]
    return g.node("LayerNormalization", [x, *names], axis=axis)


def group_norm(g: Growing) -> str:
    x = image(g)
    channels = g.shape(x)[1]
    groups = g.some(*(n for n in range(1, channels + 1) if channels % n == 0))
    if g.opset < 21:
        raise Refused("deprecated by ONNX")
    names = [g.weight(channels) for _ in range(2)]
    return g.node("GroupNormalization", [x, *names], num_groups=groups)


def lrn(g: Growing) -> str:
    return g.node("LRN", [g.tensor(4)], size=g.some(1, 3, 5), alpha=g.some(1e-4, 0.1))


def recurrent(g: Growing) -> str:
    x = g.tensor(3)
    steps, _, width = g.shape(x)
    if steps > 5:
        raise Refused("long")
    op, gates = g.some(("LSTM", 4), ("GRU", 3), ("RNN", 1))
    hidden, ways = g.some(1, 3, 8, 17), g.some(1, 1, 2)
    inputs = [x, g.weight(ways, gates * hidden, width), g.weight(ways, gates * hidden, hidden)]
    if g.chance(0.5):
        inputs.append(g.weight(ways, 2 * gates * hidden))
    direction = "bidirectional" if ways == 2 else g.some("forward", "reverse")
    more = {"linear_before_reset": g.some(0, 1)} if op == "GRU" else {}
    outputs = 3 if op == "LSTM" else 2
    return g.node(op, inputs, outputs, hidden_size=hidden, direction=direction, **more)


LAYERS = (
    conv, conv, conv, conv, winograd, winograd, strassen, strassen, conv_transpose, pool, pool,
    global_pool, gemm, gemm, matmul, matmul, square, einsum, batch_norm, instance_norm, layer_norm,
    group_norm, lrn, recurrent,
)  # fmt: skip
