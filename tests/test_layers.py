"""The folder listing is the architecture: a package imports only from those above it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tilewright"

# In the order in which data flows, as in ARCHITECTURE.md. Imports point up this list, those inside
# of functions and for type checking included; `__init__.py` at the top is the face and sees all.
ORDER = (
    "errors", "dtypes", "target", "expr", "loops", "schedule", "space", "ops", "codegen", "runtime",
    "records", "measure", "features", "models", "search", "tuning", "graph", "cli", "testing",
)  # fmt: skip

# Where a lower place in the list would still allow more than the design does.
SEES_ONLY = {
    "expr": {"errors", "dtypes"},
    "loops": {"errors", "dtypes", "expr"},
    "records": {"errors"},
    "models": {"errors", "features"},
    "search": {"errors", "space", "models"},
}
# Of space/: no compiler.
NUMBERS_ONLY = ("config", "declare", "factorise", "knobs", "moves", "run", "space")


def imports(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the line of each import from tilewright, with the package that it names."""
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(module="tilewright", level=0, names=names):
                modules = [f"tilewright.{alias.name}" for alias in names]
            case ast.ImportFrom(module=module, level=0):
                modules = [module or ""]
            case ast.ImportFrom():
                modules = ["tilewright.relative"]
            case _:
                continue
        for module in modules:
            first, _, rest = module.partition(".")
            if first == "tilewright":
                yield node.lineno, rest.partition(".")[0]


def files(part: str) -> list[Path]:
    single = SOURCE / f"{part}.py"
    return [single] if single.exists() else sorted((SOURCE / part).rglob("*.py"))


def test_every_part_has_its_place() -> None:
    parts = {p.stem for p in SOURCE.glob("*.py")} | {p.parent.name for p in SOURCE.glob("*/*.py")}
    assert parts - {"__init__", "__main__"} == set(ORDER)


@pytest.mark.parametrize("part", ORDER)
def test_imports_point_up(part: str) -> None:
    allowed = SEES_ONLY.get(part, set(ORDER[: ORDER.index(part)])) | {part}
    wrong = [
        f"{file.relative_to(ROOT)}:{line} imports {seen or 'the package itself'}"
        for file in files(part)
        for line, seen in imports(file)
        if seen not in allowed
    ]
    assert not wrong, f"{part} may import {', '.join(sorted(allowed))}:\n" + "\n".join(wrong)


@pytest.mark.parametrize("name", NUMBERS_ONLY)
def test_spaces_know_no_compiler(name: str) -> None:
    seen = {part for _, part in imports(SOURCE / "space" / f"{name}.py")}
    assert seen <= {"errors", "space"}


def test_architecture_lists_the_folders_in_this_order() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    listed = re.findall(r"^    (\w+)(?:/|\.py) ", text, re.MULTILINE)
    assert tuple(listed) == ORDER
