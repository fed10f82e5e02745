"""Deformable convolutions, against the reference evaluator and plain ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.graph.operators.one import agrees

RNG = np.random.default_rng(0)


def drawn(*shape: int, scale: float = 1.0) -> np.ndarray:
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("more", ["nothing", "bias", "mask"])
def test_a_deformed_convolution(tmp_path: Path, parts: int, groups: int, more: str) -> None:
    given: list[np.ndarray | None] = [
        drawn(2, 4, 6, 5), drawn(6, 4 // groups, 3, 2), drawn(2, parts * 3 * 2 * 2, 6, 6),
    ]  # fmt: skip
    given += [] if more == "nothing" else [drawn(6)]
    given += [drawn(2, parts * 3 * 2, 6, 6)] if more == "mask" else []
    agrees(
        tmp_path, "DeformConv", given, group=groups, offset_group=parts, pads=[1, 1, 1, 1],
        kernel_shape=[3, 2], compiled=more == "mask",
    )  # fmt: skip


def test_strides_and_dilations(tmp_path: Path) -> None:
    given = [drawn(1, 3, 9, 8), drawn(2, 3, 2, 2), drawn(1, 8, 4, 3, scale=3.0)]
    agrees(tmp_path, "DeformConv", given, strides=[2, 2], dilations=[2, 3])


def test_without_offsets_it_is_a_convolution(tmp_path: Path) -> None:
    x, w = drawn(1, 3, 7, 7), drawn(2, 3, 3, 3)
    offset = np.zeros((1, 18, 5, 5), np.float32)
    agrees(tmp_path, "DeformConv", [x, w, offset], constant=[2])
