"""docs/onnx.md: which operators are supported, from the importers and the cases on record."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

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

`tw.load_onnx` reads models of operator sets {oldest} to {newest}. A model compiles for fixed
shapes; extents that it leaves open are given, as in `shapes={{"input": (1, 3, 224, 224)}}`. What
depends on constants and shapes alone is computed when the model is loaded, whatever the operator.
A model with operators that are not supported is refused, once for all of them, with the names of
their nodes and the reasons.

The measure is the backend tests of the `onnx` package ({version}). `python -m tests.conformance`
runs them all and prints what was refused; `--record` writes `tests/conformance/passed.txt` and this
page anew. Of its node and simple tests, {whole} are tensor programs for inference on floats,
integers and bools. **{passed} of these pass ({share:.1%}); none may give wrong numbers**:

| tests | with |
| --- | --- |
| {plain} | all inputs given at each run |
| {parameters} | inputs that decide shapes or attributes constant, such as Reshape's shape |
| {weights} | weights constant, too, as networks have them |

{types} further tests are of other types (float8, integers of four bits, and the like), and
{others} are no tensor programs for inference.

## Supported

The tests of an operator are those of which it is the only one.

| operator | its tests passed |
| --- | --- |
{supported}

## Not supported

Tensor programs that are refused, with the number of their tests: {missing}.

Refused because they are no tensor programs for inference:

{refused}
"""


def text() -> str:
    """Return the page for what is recorded now."""
    version, recorded = record.read()
    cases, types, others = _measured()
    tests: dict[str, list[str]] = defaultdict(list)
    for case, operator in cases:
        if operator:
            tests[operator].append(case.name)
    passed = {operator: sum(n in recorded for n in names) for operator, names in tests.items()}
    known = sorted(IMPORTERS.keys() | {operator for operator, count in passed.items() if count})
    verdicts = [recorded[case.name] for case, _ in cases if case.name in recorded]
    missing = (f"{o} ({len(tests[o])})" for o in sorted(tests.keys() - set(known)))
    return _TEXT.format(
        oldest=OLDEST,
        newest=onnx.defs.onnx_opset_version(),
        version=version,
        whole=len(cases),
        passed=len(verdicts),
        share=len(verdicts) / len(cases),
        plain=verdicts.count(Verdict.PASSED),
        parameters=verdicts.count(Verdict.WITH_PARAMETERS),
        weights=verdicts.count(Verdict.WITH_WEIGHTS),
        types=types,
        others=others,
        supported="\n".join(_row(o, passed.get(o, 0), len(tests.get(o, ()))) for o in known),
        missing=", ".join(missing) or "none",
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


def _row(operator: str, passed: int, tests: int) -> str:
    return f"| {operator} | {f'{passed} of {tests}' if tests else 'it has none of its own'} |"


def _reasons() -> Iterable[str]:
    by_reason: dict[str, list[str]] = defaultdict(list)
    for operator, reason in NO_TENSOR_PROGRAM.items():
        by_reason[reason].append(operator)
    for reason, operators in by_reason.items():
        yield f"- {', '.join(operators)} ({reason})"
