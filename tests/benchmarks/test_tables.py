"""Tables and ratios, from measurements that are made up."""

from __future__ import annotations

import doctest
import math

from benchmarks import depthwise, integer, levels, networks, rows, tables

SECONDS = {"tilewright": (1e-3, 0.5e-3), "pytorch eager": (2e-3, 1e-3), "litert": (4e-3, 4e-3)}
ROW = {"flops": 1e9, "peak": 2e12, "seconds": SECONDS}


def test_examples() -> None:
    assert doctest.testmod(tables).failed == 0


def test_speeds() -> None:
    few = {
        "flops": 1e9,
        "peak": 2e12,
        "seconds": {"tilewright": (1e-3, 1e-3), "litert": (1e-3,) * 2},
    }
    assert tables.speeds({"C1": ROW, "C2": few}).splitlines() == [
        "| work | tilewright | pytorch eager | litert | against torch | against best |",
        "| --- | --- | --- | --- | --- | --- |",
        "| C1 | 1000 (2000) 50% | 500 (1000) 25% | 250 (250) 12% | 2.00 x | 2.00 x |",
        "| C2 | 1000 (1000) 50% | - | 1000 (1000) 50% | - | 1.00 x |",
        "| geometric mean | | | | 2.00 x | 1.41 x |",
    ]


def test_no_peer() -> None:
    assert all(math.isnan(ratio) for ratio in tables.against({"tilewright": (1.0, 1.0)}))
    assert math.isnan(tables.geometric_mean([]))


def test_a_peer_that_is_absent_is_left_out() -> None:
    """Whoever has no PyTorch, or no peer at all, reads nothing of them."""
    for peers in {"litert": (2e-3, 2e-3)}, {}:
        seconds = {"tilewright": (1e-3, 1e-3), **peers}
        row = {"bytes": 8e6, "read": 4e6, "seconds": seconds | {rows.STREAM: (1e-3, 1e-3)}}
        every = [
            tables.speeds({"C1": ROW | {"seconds": seconds}}),
            rows._show({"rows": {"gelu": row}}, 1),
            depthwise._show({"rows": {"D1": ROW | {"seconds": seconds}}}, 2),
            networks._show({"rows": {"dqn": {"seconds": seconds, "notes": []}}}, 2),
        ]
        for text in every:
            assert "nan" not in text
            assert "orch" not in text
    assert "against best" in tables.speeds(
        {"C1": ROW | {"seconds": {"tilewright": (1.0, 1.0), "x": (1.0, 1.0)}}}
    )


def test_every_benchmark_shows_well_formed_tables() -> None:
    shown = [
        depthwise._show({"rows": {"D1": ROW, "S9": ROW}}, 2),
        integer._show(
            {"rows": {"C6 sums": {"operations": 1e9, "peak": 1e12, "seconds": SECONDS}}}, 2
        ),
        networks._show({"rows": {"dqn": {"seconds": SECONDS, "notes": []}}}, 2),
        levels._show({"x86-64-v3": {"C6": ROW | {"seconds": (1e-3, 1e-3)}}}),
        rows._show(
            {
                "rows": {
                    "gelu": {
                        "bytes": 8e6,
                        "read": 4e6,
                        "seconds": SECONDS | {rows.STREAM: (1e-3, 1e-3)},
                    }
                }
            },
            1,
        ),
    ]
    for text in shown:
        assert text.startswith("## ")
        lines = [line for line in text.splitlines() if line.startswith("|")]
        assert len(lines) > 2
    assert "S9: 7x7x1024 /1, -> 1024" in shown[0]
    assert "| tilewright | 1000.0 | 500.0 | 8.0 | 200% | 1.00 x |" in shown[4]
    assert "2.00 x against PyTorch's best, 2.00 x against the best peer" in shown[4]
