"""The measured limit of the machine."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.errors import TargetError
from tilewright.measure.peak import peak


def test_more_threads_have_no_lower_peak():
    """Whatever else the machine is busy with: shares of the peak would exceed all bounds."""
    assert peak(threads=2, samples=3) > 0.5 * peak(samples=3) > 1e8


def test_a_foreign_target_has_no_peak_here():
    board = tw.Target(
        "board", triple="aarch64-unknown-linux-gnu", cpu="cortex-a72", vector_bytes=16, registers=32
    )
    with pytest.raises(TargetError, match="cannot run code for 'board'"):
        peak(board)
