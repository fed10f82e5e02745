"""Operators that ONNX itself states in terms of others, and the nodes that stand for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx

from tilewright import dtypes
from tilewright.graph.onnx.source import Refusal, Source


@dataclass(frozen=True)
class Body:
    """Nodes that compute the outputs of another node.

    `names` says what names inside are outside; all others get `prefix` before them. `outputs` pairs
    names outside with names inside; `constants` are named as outside.
    """

    nodes: Sequence[onnx.NodeProto]
    names: Mapping[str, str]
    outputs: Sequence[tuple[str, str]]
    prefix: str
    opsets: Sequence[onnx.OperatorSetIdProto] = ()
    constants: Mapping[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])
    attributes: Mapping[str, onnx.AttributeProto] | None = None  # that a function's nodes refer to


def has_function(source: Source) -> bool:
    """Whether ONNX defines the operator of a node by others."""
    schema = _schema(source)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def function_of(source: Source) -> Body | None:
    """Return the nodes by which ONNX defines the operator of a node; None if it has none."""
    schema = _schema(source)
    if schema is None:
        return None
    made = b""
    if schema.has_function:
        version = _newest(schema.function_opset_versions, source.opset)
        made = schema.get_function_with_opset_version(version)
    elif schema.has_context_dependent_function:
        version = _newest(schema.context_dependent_function_opset_versions, source.opset)
        types = [_type(source, i) for i in range(len(source.inputs))]
        proto = source.proto.SerializeToString()
        made = schema.get_context_dependent_function_with_opset_version(version, proto, types)
    if not made:
        return None
    function = onnx.FunctionProto.FromString(made)
    attributes = {name: a.default_value for name, a in schema.attributes.items()}
    attributes |= {a.name: a for a in function.attribute_proto} | source.attributes
    given = {
        name: source.inputs[i] if source.has(i) else "" for i, name in enumerate(function.input)
    }
    pairs = zip(source.outputs, function.output, strict=False)
    return Body(
        function.node, given, [(a, b) for a, b in pairs if a], _prefix(source),
        function.opset_import, attributes=attributes,
    )  # fmt: skip


def inlined(body: Body) -> tuple[list[onnx.NodeProto], list[tuple[str, str]]]:
    """Return the nodes with names of their own, and outputs that are other values by other names.

    An output that a node makes has its name outside at once.
    """
    names, aliases = dict(body.names), list[tuple[str, str]]()
    made = {name for node in body.nodes for name in node.output}
    for outside, inside in body.outputs:
        if inside in made and inside not in names:
            names[inside] = outside
        else:
            aliases.append((outside, inside))
    for name in made:
        names.setdefault(name, body.prefix + name)
    nodes = [_renamed(node, names, body) for node in body.nodes]
    return nodes, [(outside, names.get(inside, inside)) for outside, inside in aliases]


def _renamed(node: onnx.NodeProto, names: Mapping[str, str], body: Body) -> onnx.NodeProto:
    made = onnx.NodeProto()
    made.CopyFrom(node)
    made.name = body.prefix + (node.name or node.op_type)
    del made.input[:], made.output[:], made.attribute[:]
    made.input.extend(names.get(name, name) for name in node.input)
    made.output.extend(names.get(name, name) for name in node.output)
    for attribute in node.attribute:
        if (changed := _stated(attribute, body)) is None:
            continue
        if changed.HasField("g"):
            graph = changed.g
            own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
            own |= {name for inner in graph.node for name in inner.output}
            outer = {a: b for a, b in names.items() if a not in own}
            nodes = [_renamed(inner, outer, body) for inner in graph.node]
            del graph.node[:]
            graph.node.extend(nodes)
            for value in graph.output:
                value.name = outer.get(value.name, value.name)
        made.attribute.append(changed)
    return made


def _stated(attribute: onnx.AttributeProto, body: Body) -> onnx.AttributeProto | None:
    """Return an attribute with the value that it refers to; None if that is left open."""
    made = onnx.AttributeProto()
    made.CopyFrom(attribute)
    if attribute.ref_attr_name and body.attributes is not None:
        value = body.attributes.get(attribute.ref_attr_name)
        if value is None or value.type == onnx.AttributeProto.UNDEFINED:
            return None
        made.CopyFrom(value)
        made.name = attribute.name
    return made


def _schema(source: Source) -> Any:  # onnx types no functions of it
    domain = "" if source.standard else source.proto.domain
    if not onnx.defs.has(source.op, domain=domain):
        return None
    try:
        return onnx.defs.get_schema(source.op, source.opset or 1, domain)
    except onnx.defs.SchemaError:
        return None


def _newest(versions: Sequence[int], opset: int) -> int:
    """Return the newest version that a model of this operator set may be stated in."""
    return max((v for v in versions if v <= opset), default=min(versions))


def _type(source: Source, index: int) -> bytes:
    if not source.has(index):
        return onnx.TypeProto().SerializeToString()
    kind = onnx.helper.np_dtype_to_tensor_dtype(dtypes.numpy(source.dtype(index)))
    made = onnx.helper.make_tensor_type_proto(kind, source.shape(index))
    return made.SerializeToString()


def _prefix(source: Source) -> str:
    """Return what makes names inside of a node differ from all others: an output has one maker."""
    name = next(filter(None, source.outputs), "")
    if not name:
        raise Refusal("it has no outputs")
    return f"{name}/"
