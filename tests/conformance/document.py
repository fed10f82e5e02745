"""docs/onnx.md: which operators are supported, from the importers and the cases on record."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import onnx
from tests.conformance import record
from tests.conformance.cases import MEASURED, Case, load, nodes_of
from tests.conformance.check import Verdict
from tests.conformance.extent import NO_TENSOR_PROGRAM, no_tensor_program, other_types

from tilewright.graph.onnx.importers import IMPORTERS
from tilewright.graph.onnx.read import OLDEST

PATH = Path(__file__).parents[2] / "docs" / "onnx.md"
_TEXT = """\
# ONNX operators

`tw.load_onnx` reads models of operator sets {oldest} to {newest}. **{own} operators have an
importer: {standard} of the standard and {others_own} of ONNX Runtime's.** {beyond} more pass their
tests without one: {stated} that ONNX states in terms of others, and {folded} that depend on
constants and shapes alone. Whatever depends on these alone is computed when the model is loaded.

## What a model must keep to

- **Shapes are static.** An extent that the file leaves open is fixed when it is loaded:
  `shapes={{"input": (1, 3, 224, 224)}}`, or `--shape input=1x3x224x224`. Another one is another
  compilation. What decides a shape (Reshape's, TopK's k, the ends of Slice) is a constant, or comes
  from shapes and constants.
- **Indices beyond the end are no error.** Gather and its like read the nearest element, where ONNX
  Runtime raises an error; Scatter and its like write nothing there. Those below zero count from
  the end.
- **Branches and loops** compile where constants decide them, loops and scans with up to 64 turns,
  each written out. An If on data computes both branches, which must make the same shapes.
- **Types** are floats of 16 to 64 bits (bfloat16, too), integers of 8 to 64 bits, and bool. Text,
  complex numbers, float8 and integers of four bits are refused.
- **It is for inference.** Dropout and batch normalisation in training mode are refused.

Operators that are not supported are refused when the model is loaded, all of them in one error,
with the names of the nodes and the reasons. No node is left to another runtime.

## How it is measured

By the backend tests of the `onnx` package ({version}). `python -m tests.conformance` runs them all
and prints what was refused; `--record` writes `tests/conformance/passed.txt` and this page anew. Of
its node and simple tests, {whole} are tensor programs for inference on floats, integers and bools.
**{passed} of these pass ({share:.1%}); none may give wrong numbers**:

| tests | with |
| --- | --- |
{verdicts}

{old}{types} further tests are of other types (float8, integers of four bits, and the like), and
{others} are no tensor programs for inference.

## Supported

The tests of an operator are those of which it is the only one. The {own} with an importer:

| operator | its tests passed |
| --- | --- |
{supported}

The {beyond} without one:

| operator | its tests passed | how |
| --- | --- | --- |
{further}

## Not supported

Tensor programs that are refused, with the number of their tests: {missing}.

Refused because they are no tensor programs for inference. If, Loop, Scan and Compress compile
where constants decide them, as said above; so do the others on constants, but for random numbers.

{refused}
"""
_OLD = (
    "{count} of those that do not pass are of operator sets before {oldest}, which are refused.\n"
)
_WITH = {
    Verdict.PASSED: "all inputs given at each run",
    Verdict.WITH_PARAMETERS: "inputs that decide shapes or attributes constant, as Reshape's shape",
    Verdict.WITH_WEIGHTS: "weights constant, too, as networks have them",
}


def text() -> str:
    """Return the page for what is recorded now."""
    version, recorded = record.read()
    cases, types, others = _measured()
    tests: dict[str, list[Case]] = defaultdict(list)
    for case, operator in cases:
        if operator:
            tests[operator].append(case)
    passed = {o: sum(case.name in recorded for case in found) for o, found in tests.items()}
    further = sorted({o for o, count in passed.items() if count} - IMPORTERS.keys())
    stated = _stated() & set(further)
    verdicts = Counter(recorded[case.name] for case, _ in cases if case.name in recorded)
    missing = sorted(tests.keys() - IMPORTERS.keys() - set(further))
    old = sum(_too_old(case) for case, _ in cases)
    return _TEXT.format(
        oldest=OLDEST,
        newest=onnx.defs.onnx_opset_version(),
        own=len(IMPORTERS),
        standard=sum("." not in operator for operator in IMPORTERS),
        others_own=sum("." in operator for operator in IMPORTERS),
        beyond=len(further),
        stated=len(stated),
        folded=len(further) - len(stated),
        version=version,
        whole=len(cases),
        passed=verdicts.total(),
        share=verdicts.total() / len(cases),
        verdicts="\n".join(f"| {verdicts[v]} | {_WITH[v]} |" for v in _WITH if verdicts[v]),
        types=types,
        others=others,
        old=_OLD.format(count=old, oldest=OLDEST) if old else "",
        supported="\n".join(
            f"| {o} | {_judged(o, passed.get(o, 0), tests.get(o, ()))} |" for o in sorted(IMPORTERS)
        ),
        further="\n".join(
            f"| {o} | {_judged(o, passed[o], tests[o])} | {_how(o in stated)} |" for o in further
        ),
        missing=", ".join(f"{o} ({len(tests[o])})" for o in missing) or "none",
        refused="\n".join(_reasons()),
    )


def _measured() -> tuple[list[tuple[Case, str]], int, int]:
    """Return the cases of the measure, each with the operator if it has only one.

    Further, how many cases are of other types, and how many are no tensor programs.
    """
    found: list[tuple[Case, str]] = []
    types = others = 0
    for case in load(MEASURED):
        model = case.model()
        if no_tensor_program(case, model):
            others += 1
        elif other_types(model):
            types += 1
        else:
            operators = {node.op_type for node in nodes_of(model.graph)}
            found.append((case, operators.pop() if len(operators) == 1 else ""))
    return found, types, others


def _judged(operator: str, passed: int, tests: Sequence[Case]) -> str:
    """Say how many tests of an operator passed, or why there are none that could."""
    if operator in NO_TENSOR_PROGRAM:
        return "left out: it compiles where a constant decides the extents, and theirs is an input"
    if not tests:
        return "the package has none of it alone"
    if not passed and all(map(_too_old, tests)):
        return f"none: its {len(tests)} are of operator sets before {OLDEST}; later ones compile"
    return f"{passed} of {len(tests)}"


def _how(stated: bool) -> str:
    return "ONNX states it in terms of others" if stated else "from constants and shapes"


def _stated() -> set[str]:
    """Return the operators that ONNX defines by others."""
    schemas: Sequence[Any] = onnx.defs.get_all_schemas()  # onnx types no functions of them
    return {
        schema.name
        for schema in schemas
        if schema.has_function or schema.has_context_dependent_function
    }


def _too_old(case: Case) -> bool:
    opsets = case.model().opset_import
    return any(o.domain in ("", "ai.onnx") and o.version < OLDEST for o in opsets)


def _reasons() -> Iterable[str]:
    by_reason: dict[str, list[str]] = defaultdict(list)
    for operator, reason in NO_TENSOR_PROGRAM.items():
        by_reason[reason].append(operator)
    for reason, operators in by_reason.items():
        yield f"- {', '.join(operators)} ({reason})"
