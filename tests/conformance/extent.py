"""What the measure covers: inference by tensor programs on floats, integers and bools.

The one place that says which cases are left out of the share that must pass, and why.
"""

from __future__ import annotations

import onnx
from tests.conformance.cases import Case, nodes_of

_CONTROL = "control flow"
_SEQUENCE = "sequences and optional values"
_STRING = "strings"
_RANDOM = "random numbers"
_EXTENT = "the extent of the output depends on data"
_TRAINING = "training"
_FILE = "a file format"

# Why a model with such an operator is no tensor program.
NO_TENSOR_PROGRAM = {
    **dict.fromkeys(("If", "Loop", "Scan"), _CONTROL),
    **dict.fromkeys(
        ("SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert"),
        _SEQUENCE,
    ),
    **dict.fromkeys(
        ("SequenceLength", "SequenceMap", "ConcatFromSequence", "SplitToSequence"), _SEQUENCE
    ),
    **dict.fromkeys(("Optional", "OptionalGetElement", "OptionalHasElement"), _SEQUENCE),
    **dict.fromkeys(("StringConcat", "StringSplit", "StringNormalizer"), _STRING),
    "RegexFullMatch": _STRING,
    **dict.fromkeys(("RandomNormal", "RandomNormalLike", "RandomUniform"), _RANDOM),
    **dict.fromkeys(("RandomUniformLike", "Bernoulli", "Multinomial"), _RANDOM),
    **dict.fromkeys(("NonZero", "Unique", "Compress", "NonMaxSuppression"), _EXTENT),
    **dict.fromkeys(("Adagrad", "Adam", "Momentum", "Gradient"), _TRAINING),
    "ImageDecoder": _FILE,
}
# What is in the measure: these, and no others such as float8, int4, complex numbers or text.
TYPES = frozenset(
    {"FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "BOOL"}
    | {f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
)


def no_tensor_program(case: Case, model: onnx.ModelProto) -> str:
    """Say why a model is no tensor program for inference; nothing if it is one."""
    for node in nodes_of(model.graph):
        if node.op_type in NO_TENSOR_PROGRAM:
            return f"{node.op_type}: {NO_TENSOR_PROGRAM[node.op_type]}"
        if node.op_type in ("BatchNormalization", "Dropout") and _trains(case, model, node):
            return f"{node.op_type}: {_TRAINING}"
    for value in (*model.graph.input, *model.graph.output):
        if not value.type.HasField("tensor_type"):
            return _SEQUENCE
        if value.type.tensor_type.elem_type == onnx.TensorProto.STRING:
            return _STRING
    return ""


def other_types(model: onnx.ModelProto) -> str:
    """Name the types of a model that are not in the measure; nothing if there are none."""
    return ", ".join(sorted(_types(model) - TYPES)).lower()


def _types(model: onnx.ModelProto) -> set[str]:
    graph = model.graph
    types = {v.type.tensor_type.elem_type for v in (*graph.input, *graph.output)}
    types |= {tensor.data_type for tensor in graph.initializer}
    for node in nodes_of(graph):
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.TENSOR:
                types.add(attribute.t.data_type)
            elif (node.op_type, attribute.name) in (("Cast", "to"), ("QuantizeLinear", "dtype")):
                types.add(attribute.i)
    types.discard(onnx.TensorProto.UNDEFINED)
    return {onnx.TensorProto.DataType.Name(number) for number in types}


def _trains(case: Case, model: onnx.ModelProto, node: onnx.NodeProto) -> bool:
    """Whether a node computes what training would: its mode is an attribute or an input."""
    if any(a.name == "training_mode" and a.i for a in node.attribute):
        return True
    if node.op_type != "Dropout" or len(node.input) < 3 or not node.input[2]:
        return False
    stored = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    given = dict(zip((v.name for v in model.graph.input), case.data()[0][0], strict=False))
    mode = stored.get(node.input[2], given.get(node.input[2]))
    return mode is not None and bool(mode)
