"""What PyTorch's larger operators are made of, where PyTorch itself does not say."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch._decomp import core_aten_decompositions
from torch.nn import functional

from tilewright.graph.torch.importers import importer_of

aten = torch.ops.aten


def table() -> dict[Any, Callable[..., Any]]:
    """Return the decompositions of all operators but those that are imported as they are."""
    theirs: Mapping[Any, Callable[..., Any]] = core_aten_decompositions()
    return {op: made for op, made in theirs.items() if not importer_of(op)} | _OWN


def _encoder_layer(
    src: Tensor, embed_dim: int, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor,
    proj_weight: Tensor, proj_bias: Tensor, use_gelu: bool, norm_first: bool, eps: float,
    norm_weight_1: Tensor, norm_bias_1: Tensor, norm_weight_2: Tensor, norm_bias_2: Tensor,
    ffn_weight_1: Tensor, ffn_bias_1: Tensor, ffn_weight_2: Tensor, ffn_bias_2: Tensor,
    mask: Tensor | None = None, mask_type: int | None = None,
) -> Tensor:  # fmt: skip
    """Return what the fast path of nn.TransformerEncoderLayer computes."""

    def first(x: Tensor) -> Tensor:
        return functional.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second(x: Tensor) -> Tensor:
        return functional.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    def attended(x: Tensor) -> Tensor:
        return _self_attention(
            x, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, mask_type
        )[0]

    def fed(x: Tensor) -> Tensor:
        x = functional.linear(x, ffn_weight_1, ffn_bias_1)
        x = functional.gelu(x) if use_gelu else functional.relu(x)
        return functional.linear(x, ffn_weight_2, ffn_bias_2)

    if norm_first:
        x = src + attended(first(src))
        return x + fed(second(x))
    x = first(src + attended(src))
    return second(x + fed(x))


def _self_attention(
    x: Tensor, heads: int, qkv_weight: Tensor, qkv_bias: Tensor, proj_weight: Tensor,
    proj_bias: Tensor, mask: Tensor | None, mask_type: int | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the attention of a batch to itself, and its weights (batch, heads, length, length)."""
    batch, length, width = x.shape
    qkv = functional.linear(x, qkv_weight, qkv_bias).view(batch, length, 3, heads, -1)
    query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
    scores = query @ key.transpose(-1, -2) / math.sqrt(width // heads)
    if mask is not None:
        if mask_type == 1:  # (batch, length): which keys are padding
            mask = mask.view(batch, 1, 1, length)
        scores = scores.masked_fill(mask.to(torch.bool), -math.inf)
    weights = scores.softmax(-1)
    made = (weights @ value).transpose(1, 2).reshape(batch, length, width)
    return functional.linear(made, proj_weight, proj_bias), weights


def _multi_head_attention(
    query: Tensor, key: Tensor, value: Tensor, embed_dim: int, num_head: int, qkv_weight: Tensor,
    qkv_bias: Tensor, proj_weight: Tensor, proj_bias: Tensor, mask: Tensor | None = None,
    need_weights: bool = True, average_attn_weights: bool = True, mask_type: int | None = None,
) -> Any:  # fmt: skip
    """Return what the fast path of nn.MultiheadAttention computes."""
    if query is not key or key is not value or query.shape[-1] != embed_dim:
        return NotImplemented
    made, weights = _self_attention(
        query, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, mask_type
    )
    if not need_weights:
        return made, query.new_empty(0)
    return made, weights.mean(1) if average_attn_weights else weights


def _lstm_layer(
    input: Tensor, weight0: Tensor, weight1: Tensor, weight2: Tensor, weight3: Tensor,
    hx_: Tensor, cx_: Tensor, reverse: bool, batch_sizes: list[int], mode: int,
    hidden_size: int, num_layers: int, has_biases: bool, *others: bool,
) -> Any:  # fmt: skip
    """Return an LSTM layer step by step: its outputs, its last states, and nothing to train by.

    The others are whether it is one of two directions, whether the batch is first, and whether it
    is trained; PyTorch has seen to the first two.
    """
    if mode != 2 or batch_sizes or num_layers != 1 or others[-1]:  # 2: an LSTM
        return NotImplemented
    biases = (weight2, weight3) if has_biases else (None, None)
    gates = functional.linear(input, weight0, biases[0])
    h, c = hx_.reshape(-1, hidden_size), cx_.reshape(-1, hidden_size)
    steps: list[Tensor] = []
    for x in reversed(gates.unbind(0)) if reverse else gates.unbind(0):
        i, f, g, o = (x + functional.linear(h, weight1, biases[1])).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        steps.append(h)
    made = torch.stack(steps[::-1] if reverse else steps)
    return made, h.view(hx_.shape), c.view(cx_.shape), input.new_empty(0)


_OWN: dict[Any, Callable[..., Any]] = {
    aten._transformer_encoder_layer_fwd.default: _encoder_layer,
    aten._native_multi_head_attention.default: _multi_head_attention,
    aten.mkldnn_rnn_layer.default: _lstm_layer,
}
