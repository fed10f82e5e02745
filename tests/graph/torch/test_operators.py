"""Every operator that is imported, beside PyTorch: a family in one graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an extra")

from tests.graph.torch.models import Compiled  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

Each = Callable[[Any, Any, Any], list[Any]]  # of floats x (2, 6, 5, 4), y (4,), integers i (2, 6)


def functions(x: Any, y: Any, i: Any) -> list[Any]:
    u = x.sigmoid() * 0.9 + 0.05
    return [
        *(f(x) for f in (torch.abs, torch.exp, torch.tanh, torch.sin, torch.cos, torch.atan)),
        *(f(u) for f in (torch.log, torch.log2, torch.log10, torch.log1p, torch.rsqrt, torch.acos)),
        *(f(u) for f in (torch.sqrt, torch.reciprocal, torch.asin, torch.erf, torch.tan)),
        *(f(x) for f in (torch.floor, torch.ceil, torch.round, torch.trunc, torch.sign)),
        *(f(x) for f in (torch.isnan, torch.isinf, torch.logical_not, torch.square)),
        torch.sqrt(i), torch.exp(i), -i, ~i, y.sinh(), y.cosh(), y.asinh(), (u + 1).acosh(),
    ]  # fmt: skip


def activations(x: Any, y: Any, i: Any) -> list[Any]:
    del i
    return [
        F.relu(x), F.relu6(x), F.leaky_relu(x, 0.1), F.elu(x, 0.7), F.selu(x), F.celu(x),
        F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.mish(x), F.softplus(x),
        F.softplus(x, 2.0),
        F.hardswish(x), F.hardsigmoid(x), F.hardtanh(x, -0.5, 0.5), F.softsign(x),
        F.logsigmoid(x), F.prelu(x, y[:1].abs()), F.glu(x, 1), F.hardshrink(x),
        F.threshold(x, 0, 1),
    ]  # fmt: skip


def pairs(x: Any, y: Any, i: Any) -> list[Any]:
    z, j = x.flip(1) + 0.25, i.flip(0)
    return [
        x + y, torch.add(x, y, alpha=2), x - z, 1 - x, x * y, x / y, i / 3, 2 / (y + 5),
        x * i[0, :4],
        torch.pow(u := x.abs() + 0.1, y), u**2, u**-0.5, 2**y, i**2, x % 0.75, torch.fmod(x, z),
        torch.div(x, z, rounding_mode="floor"), torch.div(x, z, rounding_mode="trunc"),
        x < z, x <= 0, x > y, x >= z, x == z, i != j, i + 1.5, i * 2, torch.maximum(x, z),
        torch.minimum(i, j), (x > 0) & (z > 0), (x > 0) | (z > 0), (x > 0) ^ (z > 0), i & j, i | 3,
        torch.logical_and(x, z), torch.where(x > 0, x, 0.0), torch.where(i > 2, i, j.float()),
        x.clamp(-0.5, 0.5), x.clamp(min=y), i.clamp(max=3), x.masked_fill(x > 0, -1.0), x.double(),
        x.to(torch.int32), i.bool(), torch.addcmul(x, z, z, value=0.5), torch.lerp(x, z, 0.25),
        (i - 3) // 2, torch.div(i - 3, j + 1, rounding_mode="floor"), i << 2, (i - 4) >> 1,
        torch.bitwise_left_shift(i, j),
        torch.div(i - 3, -2, rounding_mode="trunc"),
    ]  # fmt: skip


def reductions(x: Any, y: Any, i: Any) -> list[Any]:
    return [
        x.sum(), x.sum(1), x.mean((2, 3), keepdim=True), x.mean(), x.amax((0, -1)), x.amin(2),
        *x.max(1), *x.min(-1, keepdim=True), x.argmax(), x.argmax(1, keepdim=True), x.argmin(2),
        i.argmin(1), i.sum(0), y.prod(0), (x > 0).any(1), (x > -3).all(), x.var(1), x.std(),
        *torch.var_mean(x, (2, 3), correction=0), x.softmax(1), x.log_softmax(-1), x.max(), i.min(),
        x.logsumexp(2), x.norm(dim=1), F.normalize(x, dim=1), (x > 0).sum(1),
    ]  # fmt: skip


def movements(x: Any, y: Any, i: Any) -> list[Any]:
    kept = torch.zeros(2, 6)
    return [
        x.permute(0, 2, 3, 1), x.transpose(1, -1), x.reshape(12, -1) + 1, x[:, 1:5:2], x[..., -1],
        x[:, None] * 1, x.expand(3, 2, 6, 5, 4), x.repeat(2, 1, 1, 3), torch.cat([x, x * 2], 1),
        torch.stack([y, y + 1]), *x.split(2, 1), *x.split([1, 4], 2), *y.unbind(0), *x.chunk(3, 1),
        x.flip(1, 3), x.roll(2, 1), F.pad(x, (1, 2, 0, 1), value=3.0), F.pad(x, (-1, 1)),
        F.pad(x, (1, 2, 2, 1), mode="reflect"), F.pad(x, (1, 2, 2, 1), mode="replicate"),
        F.embedding(i, x[0, :, :, 0]), x.index_select(1, i[0]), x[:, [2, 0, -1]],
        x[:, :, torch.tensor([[0], [-1]]), torch.tensor([[1, 2]])],
        torch.gather(x[..., 0, 0], 1, i), y[i % 4],
        kept.slice_scatter(x[:, :3, 0, 0], 1, 2, 5), kept.select_scatter(y[:2], 1, -1),
        F.pixel_shuffle(x[:, :4], 2), torch.tril(x), y + torch.arange(4),
        x.squeeze(), x.to(torch.float64), torch.zeros_like(x) + y,
        kept.slice_scatter(x[:, :3, 0, 0], 1, 1, 6, 2), x.unfold(2, 3, 2) * 1, F.unfold(x, 2),
        (x + 1).as_strided((2, 3, 4), (2, 8, 1), 1), x.diagonal(0, 2, 3) * 1,
    ]  # fmt: skip


def orders(x: Any, y: Any, i: Any) -> list[Any]:
    long, ties = x.reshape(2, -1), i // 2
    return [
        *x.sort(1), *ties.sort(dim=-1, descending=True, stable=True), *y.topk(2), x.argsort(2),
        *x.topk(3, 1, largest=False), *torch.sort(x > 0, dim=1, stable=True), *torch.sort(y[0]),
        x.cumsum(1), i.cumsum(-1), (x > 0).cumsum(2), long.cumsum(1), x.reshape(-1, 2).cumsum(0),
        y.cumprod(0), (1 + long / 50).cumprod(1), y[1].cumsum(0), y.cumsum(0, dtype=torch.float64),
    ]  # fmt: skip


def places(x: Any, y: Any, i: Any) -> list[Any]:
    line, four, at = x[..., 0, 0], x[0, 0], i[0] % 4
    row, mask = torch.zeros(2, 6), x > 0.5
    return [
        torch.scatter(line, 1, i, line.flip(1)), line.scatter(1, i[:, :2], 2.0),
        line.scatter_add(1, i % 3, line), four.scatter_add(0, i[:, :4] % 3, x[1, 0, 3:]),
        *(line.scatter_reduce(1, i % 3, line, kind) for kind in ("sum", "prod", "amax", "amin")),
        row.index_add(1, i[0] % 3, line), row.index_copy(1, i[0], line), row.index_fill(1, at, 3.0),
        row.index_put((i[:, 0] % 2, i[:, 1]), y[:2]), row.index_put((i[:, 0] % 2,), y[:1]),
        x.index_put((at[:2] % 2, i[0, :2]), x[0, 0], accumulate=True),
        _written(x, (slice(None), i[0, :2], at[:2]), x[:, :2, 0]),
        _written(x, (at[:1] % 2, slice(None), at[:3]), x[0, :3, :1]),
        x[at % 2, i[0]], x[:, at[:, None], at[:4]], x[at[:2] % 2, :, at[:2]], x[:, i[0], :, at],
        x.index_put((torch.tensor([0, -1]), torch.tensor([[1], [2]])), y),
        torch.where(mask, 0, x), _written(x, mask, 1.5), _written(x, (slice(None), mask[0]), y[0]),
        _written(x, x[:, 0, 0, 0] > 0, y), _written(x[:, ::2], (slice(None), at[:2] % 3), y),
        torch.bucketize(x, y.sort().values), torch.bucketize(i, i[0].sort()[0], right=True),
        torch.searchsorted(line.sort(1)[0], line * 2, out_int32=True),
    ]  # fmt: skip


def _written(x: Any, where: Any, value: Any) -> Any:
    made = x.clone()
    made[where] = value
    return made


def images(x: Any, y: Any, i: Any) -> list[Any]:
    del i
    w, v = x[:, :3, :3, :3].contiguous(), x[:1, :3, :2, :2].reshape(3, 1, 2, 2)
    line, box = x[:, :, :, 0].contiguous(), x[:, :, None].contiguous()
    return [
        F.conv2d(x, w, y[:2], 2, 1, groups=2), F.conv2d(x[:, :3], v, padding=1, groups=3),
        F.conv1d(line, x[:, :, :3, 0], stride=2), F.conv3d(box, x[:, :, None, :2, :2]),
        F.conv_transpose2d(x[:, :2], w, y[:3], 2, 1, 1), F.max_pool2d(x, 3, 2, 1),
        F.max_pool2d(x, 2, ceil_mode=True), F.max_pool1d(line, 2), F.max_pool2d(x, 2, 1, 0, 2),
        F.avg_pool2d(x, 2, 2, 1), F.avg_pool2d(x, 2, 2, 1, True, False), F.avg_pool1d(line, 2),
        F.avg_pool3d(box, (1, 2, 2)), F.adaptive_avg_pool2d(x, 1),
        F.adaptive_avg_pool2d(x, (5, 2)), F.adaptive_avg_pool2d(x, (3, 3)),
        F.interpolate(x, scale_factor=2.0),
        F.interpolate(x, (7, 6), mode="bilinear"),
        F.interpolate(x, scale_factor=2, mode="bilinear"),
        F.interpolate(x, (9, 3), mode="bilinear", align_corners=True), F.interpolate(line, 9),
        *F.max_pool2d(x, 2, 1, return_indices=True), F.interpolate(x, (7, 6), mode="bicubic"),
        *F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True),
        F.interpolate(x, (3, 2), mode="bilinear", antialias=True),
        F.interpolate(x, (3, 3), mode="bicubic", antialias=True), F.interpolate(box, (2, 7, 6)),
        F.interpolate(box, (2, 7, 6), mode="trilinear"),
        F.interpolate(x, (9, 3), mode="nearest-exact"),
        F.adaptive_max_pool2d(x, (1, 2)), F.adaptive_avg_pool3d(box, (1, 5, 2)),
        *F.max_pool2d(x[0], 2, return_indices=True), F.avg_pool2d(x[0], 2),
        F.avg_pool2d(x, 2, divisor_override=3), F.adaptive_avg_pool1d(line, 1),
        F.grid_sample(x, x[:, :2].permute(0, 2, 3, 1), align_corners=False),
        F.fold(F.unfold(x, 2), (5, 4), 2),
        F.grid_sample(x, x[:, :2].permute(0, 2, 3, 1), "bicubic", "border", True),
        F.grid_sample(x, x[:, :2].permute(0, 2, 3, 1), "nearest", "reflection", False),
        F.pad(box, (1, 2, 0, 1, 0, 0), mode="replicate"),
        F.batch_norm(x, y.mean().expand(6), y.var().expand(6), None, y.sum().expand(6)),
        F.layer_norm(x, (5, 4), bias=x[0, 0]), F.group_norm(x, 3, x[0, :, 0, 0], x[1, :, 0, 0]),
        F.instance_norm(x), F.rms_norm(x, (4,), y),
    ]  # fmt: skip


def products(x: Any, y: Any, i: Any) -> list[Any]:
    del i
    a, b = x[0, :3], x[1, :3].transpose(1, 2)
    q, k = x.permute(0, 2, 1, 3), x.flip(1).permute(0, 2, 1, 3)
    return [
        a @ b, a[0] @ b[0], a @ y, torch.baddbmm(a @ b, a, b, beta=0.5, alpha=2), F.linear(x, a[0]),
        torch.addmm(y.new_ones(5), a[0], b[0]), torch.einsum("abc,dbc->ad", a, a),
        torch.outer(y, y), F.scaled_dot_product_attention(q, k, k), y @ y,
        F.scaled_dot_product_attention(q, k, k, is_causal=True),
        F.scaled_dot_product_attention(q, k, q, attn_mask=q[0, 0, :, :1] > 0, scale=0.3),
        F.scaled_dot_product_attention(q, k, q, attn_mask=q @ k.mT),
        F.scaled_dot_product_attention(q[:, :4], k[:, :2], k[:, 1:3], enable_gqa=True),
        F.scaled_dot_product_attention(
            q[:, :4], k[:, :1], q[:, :1], None, 0, True, enable_gqa=True,
        ),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "each",
    [functions, activations, pairs, reductions, movements, orders, places, images, products],
)
def test_family(each: Each) -> None:
    torch.manual_seed(0)
    compiled = Compiled(each)
    i = torch.tensor([[0, 3, 1, 2, 5, 4], [5, 1, 1, 0, 3, 2]])
    compiled.check(torch.randn(2, 6, 5, 4), torch.tensor([0.5, -1.5, 2.0, -0.25]), i)
    assert not {operator for report in compiled.reports for operator in report.left}
