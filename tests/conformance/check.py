"""Run one case, and say what became of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import onnx
from tests.conformance import constants
from tests.conformance.cases import Arrays, Case, nodes_of
from tests.conformance.extent import no_tensor_program, other_types

import tilewright as tw
from tilewright.errors import ModelError

# Two units in the last place: the package allows so much of bfloat16, and sums of products that are
# rounded to float16 on the way, as its own are, are off by as much.
SHORT = {"bfloat16": 2.0**-6, "float16": 2.0**-9}


class Verdict(StrEnum):
    PASSED = "passed"
    WITH_PARAMETERS = "passed, parameters constant"
    WITH_WEIGHTS = "passed, weights constant"
    UNSUPPORTED = "unsupported"
    FAILED = "failed"
    WRONG = "wrong"
    CRASHED = "crashed"
    OTHER_TYPES = "other types"
    NO_TENSOR_PROGRAM = "no tensor program"


GOOD = (Verdict.PASSED, Verdict.WITH_PARAMETERS, Verdict.WITH_WEIGHTS)
BAD = (Verdict.FAILED, Verdict.WRONG, Verdict.CRASHED)
# Where all waves cancel, what is expected is what rounding left of numbers as large as the largest.
FOURIER = ("test_dft", "test_stft")
LEFT_OUT = (Verdict.OTHER_TYPES, Verdict.NO_TENSOR_PROGRAM)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a case: why, of which operators it consists, and which were refused."""

    name: str
    kind: str
    verdict: Verdict
    why: str = ""
    operators: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()  # operators, each with the reason


def check(case: Case) -> Outcome:
    """Compile and run a case, first as it is, then with more of its inputs as constants."""
    model = case.model()
    operators = tuple(sorted({_operator(node) for node in nodes_of(model.graph)}))

    def outcome(verdict: Verdict, why: str = "", error: ModelError | None = None) -> Outcome:
        refused = () if error is None else _refused(str(error), operators)
        return Outcome(case.name, case.kind, verdict, why, operators, refused)

    if why := no_tensor_program(case, model):
        return outcome(Verdict.NO_TENSOR_PROGRAM, why)
    if why := other_types(model):
        return outcome(Verdict.OTHER_TYPES, why)
    parameters = constants.parameters(model)
    refusal: ModelError | None = None
    tried: set[str] | None = None
    for verdict, fixed in zip(
        GOOD, (set[str](), parameters, parameters | constants.weights(model)), strict=True
    ):
        if fixed == tried:
            continue
        tried = fixed
        try:
            wrong = _run(case, model, fixed)
        except ModelError as error:
            refusal = error
        except Exception as error:
            return outcome(Verdict.FAILED, f"{type(error).__name__}: {error}")
        else:
            return outcome(Verdict.WRONG, wrong) if wrong else outcome(verdict)
    return outcome(Verdict.UNSUPPORTED, str(refusal), refusal)


def _run(case: Case, model: onnx.ModelProto, fixed: set[str]) -> str:
    """Run every data set, with the inputs `fixed` as constants; say what is wrong first."""
    names = [value.name for value in model.graph.input]
    for inputs, expected in case.data():
        given = dict(zip(names, inputs, strict=False))
        program = constants.fixed(model, {n: a for n, a in given.items() if n in fixed})
        module = tw.compile(tw.load_onnx(program, _open(program, given)), threads=1)
        results = module(*(given[value.name] for value in module.inputs))
        if wrong := _compare(results if isinstance(results, tuple) else (results,), expected, case):
            return wrong
    return ""


def _open(model: onnx.ModelProto, given: Mapping[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of inputs that the model leaves open."""
    shapes: dict[str, tuple[int, ...]] = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        stated = tensor.HasField("shape") and all(d.dim_value for d in tensor.shape.dim)
        if not stated and value.name in given:
            shapes[value.name] = given[value.name].shape
    return shapes


def _compare(results: Arrays, expected: Arrays, case: Case) -> str:
    if len(results) != len(expected):
        return f"it makes {len(results)} outputs instead of {len(expected)}"
    for index, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        if result.shape != wanted.shape:
            return f"output {index} has the shape {result.shape} instead of {wanted.shape}"
        if result.dtype != wanted.dtype:
            return f"output {index} is of {result.dtype} instead of {wanted.dtype}"
        rtol = case.rtol
        if wanted.dtype.name in SHORT:
            rtol = max(rtol, SHORT[wanted.dtype.name])
            result, wanted = result.astype(np.float32), wanted.astype(np.float32)
        atol = case.atol
        if case.name.startswith(FOURIER):
            atol = max(atol, float(np.spacing(np.abs(wanted).max())))
        near = np.isclose(result, wanted, rtol, atol, equal_nan=True)
        if not near.all():
            at = tuple(map(int, np.argwhere(~near)[0]))
            return (
                f"output {index}: {int((~near).sum())} of {near.size} numbers are wrong, the first "
                f"at {at}: {result[at]} instead of {wanted[at]}"
            )
    return ""


def _operator(node: onnx.NodeProto) -> str:
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"


def _refused(message: str, operators: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Read from a refusal the operators that it names, with the first reason of each."""
    found: dict[str, str] = {}
    for line in message.splitlines():
        match = re.match(r"\s*(\w+) '.*?': (.*)", line)
        if match and any(name.split(".")[-1] == match[1] for name in operators):
            found.setdefault(match[1], match[2])
    return tuple(found.items())
