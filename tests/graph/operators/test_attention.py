"""Attention of every kind, as onnx's evaluator computes it, in as few kernels as can be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from tests.graph.compare import compare, kinds
from tests.graph.models import floats
from tests.graph.operators.one import agrees

from tilewright.errors import ModelError

RNG = np.random.default_rng(0)
B, H, S, T, D = 2, 4, 3, 5, 8
LOW = np.float32(-np.inf)


def heads(keys: int = H, length: int = T, queries: int = S) -> list[np.ndarray | None]:
    """Return queries, keys and values."""
    k, v = floats(RNG, B, keys, length, D), floats(RNG, B, keys, length, D + 1)
    return [floats(RNG, B, H, queries, D), k, v]


@pytest.mark.parametrize("keys", [H, 2, 1], ids=["of each", "shared", "of all"])
@pytest.mark.parametrize(
    "case",
    [{}, {"is_causal": 1}, {"softcap": 2.0}, {"scale": 0.3, "is_causal": 1, "softcap": 1.5}],
    ids=str,
)
def test_few_kernels(tmp_path: Path, keys: int, case: dict[str, Any]) -> None:
    graph = agrees(tmp_path, "Attention", heads(keys), opset=24, compiled=keys == 2, **case)
    assert kinds(graph) == ["matmul", "softmax", "matmul"]


MASKS = {
    "holds": RNG.random((S, T)) < 0.6,
    "holds in heads": RNG.random((B, H, S, T)) < 0.6,
    "holds nowhere in a row": np.array([[True] * T, [False] * T, [True] * T]),
    "added": floats(RNG, S, T),
    "added of a head": floats(RNG, H, S, T),
    "added, of nothing in a row": np.where(np.arange(S)[:, None] == 1, LOW, floats(RNG, S, T)),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("constant", [(), (3,)], ids=["computed", "constant"])
def test_masks(tmp_path: Path, mask: str, causal: int, constant: tuple[int, ...]) -> None:
    arrays = [*heads(2), MASKS[mask]]
    graph = agrees(tmp_path, "Attention", arrays, constant=constant, opset=24, is_causal=causal)
    assert kinds(graph) in (["matmul", f"{m}softmax", "matmul"] for m in ("", "masked_"))


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_what_else_is_made(tmp_path: Path, mode: int) -> None:
    past = [floats(RNG, B, 2, 4, D), floats(RNG, B, 2, 4, D + 1)]
    arrays = [*heads(2), floats(RNG, S, T + 4), *past]
    agrees(
        tmp_path, "Attention", arrays, outputs=4, opset=24, is_causal=1, qk_matmul_output_mode=mode
    )


@pytest.mark.parametrize("constant", [(), (6,)], ids=["computed", "constant"])
@pytest.mark.parametrize("case", [{}, {"is_causal": 1}], ids=str)
def test_keys_that_are_padding(
    tmp_path: Path, case: dict[str, Any], constant: tuple[int, ...]
) -> None:
    arrays = [*heads(), None, None, None, np.array([2, 5])]
    agrees(tmp_path, "Attention", arrays, constant=constant, opset=24, **case)


def test_window(tmp_path: Path) -> None:
    cases: list[dict[str, Any]] = [{"left_window_size": 1}, {"left_window_size": 0}]
    cases[1]["right_window_size"] = 1
    for case in cases:
        agrees(tmp_path, "Attention", heads(), opset=25, **case)


@pytest.mark.parametrize("mask", [True, False])
def test_images_of_rows(tmp_path: Path, mask: bool) -> None:
    """Of three axes, where the heads lie side by side in the last."""
    arrays: list[np.ndarray | None] = [floats(RNG, B, S, 4 * D), *(floats(RNG, B, T, 2 * D),) * 2]
    arrays += [MASKS["holds"]] if mask else []
    agrees(tmp_path, "Attention", arrays, opset=24, q_num_heads=4, kv_num_heads=2)


def test_other_precision_of_softmax(tmp_path: Path) -> None:
    agrees(tmp_path, "Attention", heads(), opset=24, softmax_precision=11)
    short = [a.astype(np.float16) for a in heads() if a is not None]
    agrees(tmp_path, "Attention", short, opset=24, softmax_precision=1, tolerance=4e-3)


def test_heads_that_do_not_fit(tmp_path: Path) -> None:
    arrays = {"q": floats(RNG, B, H, S, D), "k": floats(RNG, B, 3, T, D)}
    node = helper.make_node("Attention", ["q", "k", "k"], ["y"])
    with pytest.raises(ModelError, match="4 heads of queries cannot share 3 heads of keys"):
        compare(tmp_path, [node], arrays, opset=24, wanted=[arrays["q"]])
