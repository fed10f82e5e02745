"""`import tilewright` is light, and every name that it offers is there."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest

import tilewright

HEAVY = (
    "xgboost", "torch", "onnx", "onnxruntime", "sqlalchemy", "llvmlite", "rich", "typer", "scipy",
)  # fmt: skip
OWN_MODULES = 48  # expressions, loops and schedules; the rest waits for its first use
OTHER_MODULES = 30  # beyond what NumPy loads


def loaded_by(statement: str) -> set[str]:
    """Return the modules that a fresh interpreter holds after `statement`."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout))


@pytest.fixture(scope="module")
def added() -> set[str]:
    return loaded_by("import tilewright") - loaded_by("import numpy")


def test_import_loads_nothing_heavy(added: set[str]) -> None:
    heavy = {name.partition(".")[0] for name in added} & set(HEAVY)
    assert not heavy


def test_import_loads_few_modules(added: set[str]) -> None:
    own = {name for name in added if name.partition(".")[0] == "tilewright"}
    assert len(own) <= OWN_MODULES, sorted(own)
    assert len(added - own) <= OTHER_MODULES, sorted(added - own)


def test_the_command_line_starts_light() -> None:
    heavy = {name.partition(".")[0] for name in loaded_by("import tilewright.cli.main")}
    assert not heavy & (set(HEAVY) - {"typer", "rich"})


@pytest.mark.parametrize("name", tilewright.__all__)
def test_every_name_resolves(name: str) -> None:
    assert getattr(tilewright, name) is not None
    assert name in dir(tilewright)


def test_names_are_sorted_and_few() -> None:
    assert tilewright.__all__ == sorted(set(tilewright.__all__))
    assert len(tilewright.__all__) <= 80


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(AttributeError, match=r"has no 'tensr'; it has .*\btensor\b"):
        _ = tilewright.tensr  # pyright: ignore


def test_lazy_names_point_at_modules_that_exist() -> None:
    for place in tilewright._LAZY.values():  # pyright: ignore[reportPrivateUsage]
        assert importlib.util.find_spec(place.partition(":")[0]) is not None
