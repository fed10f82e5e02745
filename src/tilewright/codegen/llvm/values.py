"""Scalar expressions as LLVM values, one element or one vector register at a time."""

from __future__ import annotations

from hashlib import sha256

from tilewright import dtypes
from tilewright.codegen.llvm.builder import Value, constant, llvm_type, suffix
from tilewright.codegen.llvm.even import Even, even, multiple
from tilewright.codegen.llvm.gather import gathered
from tilewright.codegen.llvm.halves import narrowed, widened
from tilewright.codegen.llvm.integers import of_sign, power, quotient, remainder, shifted
from tilewright.codegen.llvm.libm import libm
from tilewright.codegen.llvm.math import transcendental
from tilewright.codegen.llvm.math64 import ANGULAR, angular, real_power
from tilewright.codegen.llvm.math512 import erf_of_multiple, transcendental512
from tilewright.codegen.llvm.memory import Memory
from tilewright.errors import CompileError
from tilewright.expr.affine import Affine
from tilewright.expr.parts import conjuncts
from tilewright.expr.scalar import (
    Binary,
    Cast,
    Const,
    Index,
    Load,
    Scalar,
    Select,
    Table,
    Unary,
    Within,
)
from tilewright.loops.nodes import Buffer, offset
from tilewright.target import Target

_FLOAT = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INTEGER = {
    "add": "add", "sub": "sub", "mul": "mul", "bitand": "and", "bitor": "or", "bitxor": "xor",
}  # fmt: skip
_COMPARE = {"lt": ("olt", "slt"), "le": ("ole", "sle"), "eq": ("oeq", "eq"), "ne": ("une", "ne")}
_INTRINSIC = {
    "abs": "fabs", "exp": "exp", "log": "log", "sqrt": "sqrt", "tanh": "tanh", "floor": "floor",
    "rint": "roundeven", "ceil": "ceil", "trunc": "trunc",
}  # fmt: skip


_UNSIGNED = (*dtypes.UNSIGNED, "bool")


class Values(Memory):
    """Emits expressions; `saturates` says that floats become the nearest integer there is."""

    saturates = False

    def __init__(self, buffers: dict[str, Buffer], promoted: set[str], target: Target) -> None:
        super().__init__(buffers, promoted, target)
        # Which number of a table is read, by the identity of what reads it.
        self._places: dict[int, tuple[Affine, Table]] = {}
        self._tables = target.has("avx512f")  # a register holds a table of functions

    def level(self, *values: Value) -> tuple[list[Value], int]:
        width = max(v.width for v in values)
        return [self.spread(v, width) for v in values], width

    def evaluate(self, value: Scalar) -> Value:
        match value:
            case Const(value=number, dtype=dtype):
                return Value(constant(number, dtype), dtype, 1)
            case Load(gathered=(_, *_)) as load:
                return gathered(self, load)
            case Load(buffer=buffer, index=index):
                return self.load(buffer, index)
            case Table() as table:
                return self._table(table)
            case Index(index=index):
                return self._index(index)
            case Within() as within:
                known = self.decide(within)
                if known is None and self.varies(within):
                    return self._test_lanes(within)
                name = self.test(within) if known is None else constant(known, "bool")
                return Value(name, "bool", 1)
            case Select() as select:
                return self._select(select)
            case Cast(value=inner, dtype=dtype):
                return self.cast(self.evaluate(inner), dtype)
            case Unary(op="erf", value=inner, dtype="float32") if self._tables:
                x, scale = multiple(inner)
                return erf_of_multiple(self, self.evaluate(x), scale, signed=True)
            case Unary(op=op, value=inner):
                return self._unary(op, self.evaluate(inner))
            case Binary(op="mul", left=left, right=right) if self._tables and (
                found := even(left, right)
            ):
                return self._even(found)
            case Binary(op="and", left=left, right=right) if not self.inside(right):
                return self._select(Select(left, right, Const(0, "bool"), "bool"))
            case Binary(op="or", left=left, right=right) if not self.inside(right):
                return self._select(Select(left, Const(1, "bool"), right, "bool"))
            case Binary(op=op, left=left, right=right):
                return self.apply(op, self.evaluate(left), self.evaluate(right))
            case _:
                raise CompileError(f"no code for {type(value).__name__}")

    def number(self, value: Scalar) -> float | None:
        """Return the number that a value is here, whatever the loops do, or None."""
        if isinstance(value, Const):
            return value.value
        if not isinstance(value, Table):
            return None
        if id(value) not in self._places:
            self._places[id(value)] = offset(value.shape, value.index), value
        # What differs between the lanes of the open vector is not known either.
        at = self.known(self._places[id(value)][0])
        # A round that guards leave out may be beyond the table.
        return value.values[at] if at is not None and 0 <= at < len(value.values) else None

    def _even(self, product: Even) -> Value:
        factor = self.evaluate(product.factor)
        x = self.evaluate(product.value)
        share = erf_of_multiple(self, x, product.scale, signed=False)
        size = self._unary("abs", factor)
        if product.added:
            return self.multiply_add(size, share, factor)
        return self.apply("mul", size, share)

    def _table(self, table: Table) -> Value:
        known = self.number(table)
        if known is not None:
            return Value(constant(known, table.dtype), table.dtype, 1)
        kind = llvm_type(table.dtype, 1)
        numbers = ", ".join(f"{kind} {constant(n, table.dtype)}" for n in table.values)
        name = f"table.{sha256(f'{table.shape} {table.dtype} {numbers}'.encode()).hexdigest()[:16]}"
        if name not in self.buffers:
            self.buffers[name] = Buffer(name, table.shape, table.dtype, "constant")
            self.pointers[name] = f'@"{name}"'
            data = f"[{len(table.values)} x {kind}] [{numbers}]"
            self.declared.add(f'@"{name}" = private unnamed_addr constant {data}, align 64')
        return self.load(name, table.index)

    def _index(self, index: Affine) -> Value:
        vector = self.vector
        step = int(index.coefficient(vector.loop)) if vector else 0
        if vector is None or step == 0:
            return Value(self.integer(index), "int64", 1)
        rest = Affine(index.constant, tuple((n, c) for n, c in index.terms if n != vector.loop))
        start = self.spread(Value(self.integer(rest), "int64", 1), vector.width)
        lanes = ", ".join(f"i64 {step * (vector.base + i)}" for i in range(vector.width))
        name = self.emit(f"add {start.type} {start.name}, <{lanes}>")
        return Value(name, "int64", vector.width)

    def _test_lanes(self, within: Within) -> Value:
        """Return a condition that differs between the lanes of the open vector."""
        at = self._index(within.index)
        tests = [
            self.apply(op, *sides)
            for op, bound, sides in (
                ("le", within.low, (Value(str(within.low), "int64", 1), at)),
                ("lt", within.high, (at, Value(str(within.high), "int64", 1))),
            )
            if abs(bound) < 1 << 40
        ]
        return tests[0] if len(tests) == 1 else self.apply("and", *tests)

    def _select(self, select: Select) -> Value:
        condition, yes, no = select.condition, select.yes, select.no
        parts = conjuncts(condition)
        first = [part for part in parts if _only_indices(part)]
        if 0 < len(first) < len(parts) and not self.inside(condition):
            rest = [part for part in parts if part not in first]
            inner = Select(_all(rest), yes, no, select.dtype)
            return self._select(Select(_all(first), inner, no, select.dtype))
        test = self.evaluate(condition)
        if test.name in ("true", "false"):
            return self.evaluate(yes if test.name == "true" else no)
        safe = self.inside(yes, no)
        if test.width == 1 and (_only_indices(condition) or not safe):
            return self._branch(test, yes, no)
        if not safe:
            return self._lane_by_lane(select)
        (c, a, b), _ = self.level(test, self.evaluate(yes), self.evaluate(no))
        return self.choose(c, a, b)

    def _branch(self, test: Value, yes: Scalar, no: Scalar) -> Value:
        """Evaluate only the chosen side: the other may lie outside of its tensor."""
        labels = [self.fresh_label(kind) for kind in ("yes", "no", "join")]
        self.out.append(f"  br i1 {test.name}, label %{labels[0]}, label %{labels[1]}")
        width = self.vector.width if self.vector else 1
        sides: list[tuple[Value, str]] = []
        for label, side in zip(labels, (yes, no), strict=False):
            self.start(label)
            value = self.spread(self.evaluate(side), width)
            sides.append((value, self.label))
            self.out.append(f"  br label %{labels[2]}")
        self.start(labels[2])
        (a, first), (b, second) = sides
        name = self.emit(f"phi {a.type} [ {a.name}, %{first} ], [ {b.name}, %{second} ]")
        return Value(name, a.dtype, width)

    def _lane_by_lane(self, value: Scalar) -> Value:
        """Evaluate each lane by itself: what one lane may load, another may not."""
        vector = self.vector
        assert vector
        self.vector, self.lane = None, vector
        kind, name = llvm_type(value.dtype, vector.width), "poison"
        for lane in range(vector.active):
            self.env[vector.loop] = vector.base + lane
            one = self.evaluate(value)
            name = self.emit(f"insertelement {kind} {name}, {one.type} {one.name}, i64 {lane}")
        del self.env[vector.loop]
        self.vector, self.lane = vector, None
        return Value(name, value.dtype, vector.width)

    def wide(self, value: Value) -> Value:
        """Return a short float as float32, in which code computes; any other value as it is."""
        if value.dtype not in dtypes.SHORT_FLOATS:
            return value
        key = ("wide", value.name, value.width, value.dtype, "")
        if key not in self.shared:
            self.shared[key] = widened(self, value, self.target)
        return self.shared[key]

    def short(self, value: Value, dtype: str) -> Value:
        """Return a result computed by `wide` values, rounded to the type of its operands."""
        if dtype not in dtypes.SHORT_FLOATS or value.dtype != "float32":
            return value
        return narrowed(self, value, dtype, self.target)

    def apply(self, op: str, left: Value, right: Value) -> Value:
        if left.dtype in dtypes.SHORT_FLOATS:
            return self.short(self.apply(op, self.wide(left), self.wide(right)), left.dtype)
        (a, b), width = self.level(left, right)
        floats = dtypes.is_float(a.dtype)
        pair = f"{a.type} {a.name}, {b.name}"
        if op in _COMPARE:
            name, kind = _COMPARE[op][0 if floats else 1], "fcmp" if floats else "icmp"
            unsigned = name.replace("s", "u") if a.dtype in _UNSIGNED else name
            return Value(self.emit(f"{kind} {unsigned} {pair}"), "bool", width)
        if op in ("and", "or"):
            absorbs = "false" if op == "and" else "true"
            for one, other in (a, b), (b, a):
                if one.name in ("true", "false"):
                    return one if one.name == absorbs else other
            return Value(self.emit(f"{op} {pair}"), "bool", width)
        if op in ("max", "min"):
            return self._extreme(op, a, b)
        if floats and op in _FLOAT:
            return Value(self.emit(f"{_FLOAT[op]} {pair}"), a.dtype, width)
        if not floats and op in _INTEGER:
            return Value(self.emit(f"{_INTEGER[op]} {pair}"), a.dtype, width)
        match op:
            case "div":
                return quotient(self, a, b)
            case "pow":
                if a.dtype == "float32":
                    return real_power(self, a, b)
                return libm(self, op, a, b) if floats else power(self, a, b)
            case "mod" if floats:
                zero = self.spread(Value(constant(0.0, a.dtype), a.dtype, 1), width)
                return of_sign(self, libm(self, "fmod", a, b), b, zero)
            case "mod" | "fmod":
                return libm(self, op, a, b) if floats else remainder(self, op, a, b)
            case "shl" | "shr":
                return shifted(self, op, a, b)
            case _:
                raise CompileError(f"no code for {op} of {a.dtype}")

    def _extreme(self, op: str, a: Value, b: Value) -> Value:
        """Return the greater or the lesser; of floats NaN, if either is, and of zeros any.

        x86 takes the second of two that do not compare, so LLVM looks for NaN only in the first,
        and nowhere if one of them is a number: then it is one instruction.
        """
        if dtypes.is_float(a.dtype):
            word, flag = {"max": "maximum", "min": "minimum"}[op], "nsz "
        else:
            word, flag = ("u" if a.dtype in dtypes.UNSIGNED else "s") + op, ""
        name = f"llvm.{word}.{suffix(a.dtype, a.width)}"
        self.intrinsic(name, a.type, f"{a.type}, {b.type}")
        text = f"call {flag}{a.type} @{name}({a.type} {a.name}, {b.type} {b.name})"
        return Value(self.emit(text), a.dtype, a.width)

    def choose(self, test: Value, yes: Value, no: Value) -> Value:
        parts = ", ".join(f"{v.type} {v.name}" for v in (test, yes, no))
        return Value(self.emit(f"select {parts}"), yes.dtype, yes.width)

    def multiply_add(self, left: Value, right: Value, total: Value) -> Value:
        if total.dtype in dtypes.SHORT_FLOATS:
            a, b, c = (self.wide(v) for v in (left, right, total))
            return self.short(self.multiply_add(a, b, c), total.dtype)
        (a, b, c), width = self.level(left, right, total)
        name = f"llvm.fmuladd.{suffix(a.dtype, width)}"  # fused where the target can
        self.intrinsic(name, a.type, ", ".join([a.type] * 3))
        arguments = ", ".join(f"{v.type} {v.name}" for v in (a, b, c))
        return Value(self.emit(f"call {a.type} @{name}({arguments})"), a.dtype, width)

    def _unary(self, op: str, value: Value) -> Value:
        if value.dtype in dtypes.SHORT_FLOATS:
            return self.short(self._unary(op, self.wide(value)), value.dtype)
        if op == "neg":
            if not dtypes.is_float(value.dtype):
                return self.apply("sub", Value("0", value.dtype, 1), value)
            return Value(self.emit(f"fneg {value.type} {value.name}"), value.dtype, value.width)
        if op == "abs" and not dtypes.is_float(value.dtype):
            return self._integer_abs(value)
        if op == "sign":
            return self._sign(value)
        if op == "bitnot":
            return self.apply("bitxor", value, Value("-1", value.dtype, 1))
        if value.dtype == "float32" and op in ANGULAR:
            return angular(self, op, value)
        written = None
        if value.dtype == "float32" and self._tables:
            written = transcendental512(self, op, value)
        written = written or transcendental(self, op, value)
        if written is not None:
            return written
        if op == "sigmoid":
            one = Value(constant(1.0, value.dtype), value.dtype, 1)
            down = self._unary("exp", self._unary("neg", value))
            return self.apply("div", one, self.apply("add", down, one))
        if op not in _INTRINSIC or not dtypes.is_float(value.dtype):
            raise CompileError(f"no code for {op} of {value.dtype} yet")
        name = f"llvm.{_INTRINSIC[op]}.{suffix(value.dtype, value.width)}"
        self.intrinsic(name, value.type, value.type)
        return Value(
            self.emit(f"call {value.type} @{name}({value.type} {value.name})"),
            value.dtype,
            value.width,
        )

    def _integer_abs(self, value: Value) -> Value:
        """Return |value|; the least integer has none, and stays as it is."""
        if value.dtype in dtypes.UNSIGNED:
            return value
        name = f"llvm.abs.{suffix(value.dtype, value.width)}"
        self.intrinsic(name, value.type, f"{value.type}, i1")
        text = f"call {value.type} @{name}({value.type} {value.name}, i1 false)"
        return Value(self.emit(text), value.dtype, value.width)

    def _sign(self, value: Value) -> Value:
        zero, one, minus = (Value(constant(n, value.dtype), value.dtype, 1) for n in (0, 1, -1))
        if value.dtype in dtypes.UNSIGNED:
            return self.apply("min", value, one)
        above, below = self.apply("lt", zero, value), self.apply("lt", value, zero)
        rest = self.apply("add", value, zero)  # zero of -0.0, and NaN of itself
        one, minus = self.spread(one, value.width), self.spread(minus, value.width)
        return self.choose(above, one, self.choose(below, minus, rest))

    def whole(self, index: Scalar) -> Value:
        """Evaluate an integer that leads somewhere: a float that it is made of may be any number.

        Elsewhere a conversion of a float that does not fit is undefined, as in NumPy; here it gives
        the nearest integer, and 0 for NaN.
        """
        before, self.saturates = self.saturates, True
        value = self.evaluate(index)
        self.saturates = before
        return value

    def cast(self, value: Value, dtype: str) -> Value:
        if value.dtype == dtype:
            return value
        if value.dtype in dtypes.SHORT_FLOATS:
            return self.cast(self.wide(value), dtype)
        if dtype in dtypes.SHORT_FLOATS:
            return narrowed(self, self.cast(value, "float32"), dtype, self.target)
        if dtype == "bool":
            return self.apply("ne", value, Value(constant(0, value.dtype), value.dtype, 1))
        before, after = dtypes.is_float(value.dtype), dtypes.is_float(dtype)
        unsigned = value.dtype in _UNSIGNED
        grows = dtypes.nbytes(dtype) > dtypes.nbytes(value.dtype) or value.dtype == "bool"
        if before and after:
            word = "fpext" if grows else "fptrunc"
        elif before:
            word = "fptoui" if dtype in dtypes.UNSIGNED else "fptosi"
            if self.saturates:
                return self._saturated(word, value, dtype)
        elif after:
            word = "uitofp" if unsigned else "sitofp"
        elif dtypes.nbytes(dtype) == dtypes.nbytes(value.dtype) and value.dtype != "bool":
            return Value(value.name, dtype, value.width)
        else:
            word = ("zext" if unsigned else "sext") if grows else "trunc"
        kind = llvm_type(dtype, value.width)
        return Value(self.emit(f"{word} {value.type} {value.name} to {kind}"), dtype, value.width)

    def _saturated(self, word: str, value: Value, dtype: str) -> Value:
        """Convert floats by an instruction's saturating kin."""
        kind, into = llvm_type(dtype, value.width), suffix(dtype, value.width)
        name = f"llvm.{word}.sat.{into}.{suffix(value.dtype, value.width)}"
        self.intrinsic(name, kind, value.type)
        text = f"call {kind} @{name}({value.type} {value.name})"
        return Value(self.emit(text), dtype, value.width)


def _all(conditions: list[Scalar]) -> Scalar:
    whole = conditions[0]
    for condition in conditions[1:]:
        whole = Binary("and", whole, condition, "bool")
    return whole


def _only_indices(condition: Scalar) -> bool:
    """Whether a condition depends on loop variables alone."""
    if isinstance(condition, Binary) and condition.op in ("and", "or"):
        return _only_indices(condition.left) and _only_indices(condition.right)
    return isinstance(condition, Within)
