"""A program of one element: named functions, one after another, of a few operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tilewright.errors import ExpressionError
from tilewright.expr.parts import measure
from tilewright.expr.scalar import Load, Scalar
from tilewright.ops.functions import FUNCTIONS

Parameter: TypeAlias = float | int | str | None

_COMMUTATIVE = ("add", "mul", "max", "min", "equal", "and", "or")

LARGE = 1 << 12  # parts of an expression that is not built to be counted


@dataclass(frozen=True, slots=True)
class Step:
    """One function (a key of `FUNCTIONS`) of values of the program, by their numbers."""

    function: str
    operands: tuple[int, ...] = ()
    parameters: tuple[Parameter, ...] = ()

    def __str__(self) -> str:
        given = [f"%{n}" for n in self.operands] + [str(p) for p in self.parameters]
        return f"{self.function}({', '.join(given)})"


@dataclass(frozen=True, slots=True)
class Program:
    """What becomes of `inputs` values: they have the numbers from 0, and each step adds one.

    The last value is the result.

    >>> swish = Program(1, (Step("sigmoid", (0,)), Step("mul", (0, 1))))
    >>> print(swish)
    %1 = sigmoid(%0); %2 = mul(%0, %1)
    """

    inputs: int
    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        for number, step in enumerate(self.steps, self.inputs):
            if step.function not in FUNCTIONS:
                raise ExpressionError(
                    f"{step} is no function of an element; there are {', '.join(FUNCTIONS)}."
                )
            if not all(0 <= n < number for n in step.operands):
                raise ExpressionError(f"{step} reads a value that is not made before it.")
        if not self.inputs + len(self.steps):
            raise ExpressionError("a program without inputs and steps has no result.")

    @staticmethod
    def of(function: str, inputs: int = 1, *parameters: Parameter) -> Program:
        """Return the program of one function of all its inputs."""
        return Program(inputs, (Step(function, tuple(range(inputs)), parameters),))

    def __str__(self) -> str:
        return "; ".join(f"%{n} = {s}" for n, s in enumerate(self.steps, self.inputs))

    @property
    def result(self) -> int:
        return self.inputs + len(self.steps) - 1

    def __call__(self, values: Sequence[Scalar]) -> Scalar:
        """Return the expression of the result for these inputs."""
        made = list(values)
        for step in self.steps:
            operands = [made[n] for n in step.operands]
            made.append(FUNCTIONS[step.function](*operands, *step.parameters))
        return made[-1]

    def typed(self, dtypes: Sequence[str]) -> Scalar:
        """Return the expression for inputs of these types: its type is that of the result."""
        return self([Load(f"X{i}", (), dtype) for i, dtype in enumerate(dtypes)])

    @property
    def uses(self) -> tuple[int, ...]:
        """How often each value is read; the result once more."""
        count = [0] * (self.inputs + len(self.steps))
        for step in self.steps:
            for n in step.operands:
                count[n] += 1
        count[-1] += 1
        return tuple(count)

    def after(self, other: Program, at: int) -> Program:
        """Return the program in which `other` makes operand `at`.

        Its inputs are those of this one without that, then those of `other`.

        >>> print(Program.of("add", 2).after(Program.of("relu"), 0))
        %2 = relu(%1); %3 = add(%2, %0)
        """
        kept = self.inputs - 1
        inputs = kept + other.inputs
        theirs = {n: kept + n for n in range(other.inputs + len(other.steps))}
        steps = [_renumbered(step, theirs) for step in other.steps]
        result = kept + other.result
        mine = {n: n if n < at else n - 1 for n in range(self.inputs)} | {at: result}
        shift = inputs + len(other.steps) - self.inputs
        mine |= {n: n + shift for n in range(self.inputs, self.inputs + len(self.steps))}
        return Program(inputs, (*steps, *(_renumbered(step, mine) for step in self.steps)))

    def followed_by(self, other: Program) -> Program:
        """Return this program and then `other` of its result, both of which have one as input 0.

        The further inputs are those of this one, then those of the other.

        >>> print(Program.of("add", 2).followed_by(Program.of("mul", 2)))
        %3 = add(%0, %1); %4 = mul(%3, %2)
        """
        both = other.after(self, 0)  # its inputs: those of the other but 0, then mine
        theirs, mine = other.inputs - 1, self.inputs - 1
        places = (*range(1 + mine, 1 + mine + theirs), 0, *range(1, 1 + mine))
        return both.with_inputs(places, both.inputs)

    def with_inputs(self, places: Sequence[int], count: int) -> Program:
        """Return the program of `count` inputs, in which input i of this one is `places[i]`."""
        place = dict(enumerate(places))
        shift = count - self.inputs
        place |= {n: n + shift for n in range(self.inputs, self.inputs + len(self.steps))}
        return Program(count, tuple(_renumbered(step, place) for step in self.steps))

    @property
    def normal(self) -> Program:
        """The program in which operands that may be swapped are ordered: the newest step first.

        Inputs come after what steps make, in their own order.
        """

        def place(n: int) -> tuple[bool, int]:
            return (n < self.inputs, n if n < self.inputs else -n)

        steps = (
            Step(s.function, tuple(sorted(s.operands, key=place)), s.parameters)
            if s.function in _COMMUTATIVE
            else s
            for s in self.steps
        )
        return Program(self.inputs, tuple(steps))

    @property
    def depth(self) -> int:
        """How many steps the longest way from an input to the result has."""
        depths = [0] * self.inputs
        for step in self.steps:
            depths.append(1 + max((depths[n] for n in step.operands), default=0))
        return depths[-1]

    def size(self, dtypes: Sequence[str]) -> int:
        """Return of how many parts the expression is made: a value that is read twice counts so.

        It is bounded without being built where it would be large.
        """
        counts = [1] * self.inputs
        for step in self.steps:
            counts.append(1 + sum(counts[n] for n in step.operands))
        return counts[-1] if counts[-1] > LARGE else measure(self.typed(dtypes))[1]


class Draft:
    """A program in the making: each call adds a step, and returns the number of its value.

    >>> draft = Draft(2)
    >>> half = draft.constant(0.5, "float32")
    >>> _ = draft("mul", draft("add", 0, 1), half)
    >>> print(draft.program)
    %2 = constant(0.5, float32); %3 = add(%0, %1); %4 = mul(%3, %2)
    """

    def __init__(self, inputs: int) -> None:
        self.inputs, self.steps = inputs, list[Step]()

    def __call__(self, function: str, *operands: int, parameters: Sequence[Parameter] = ()) -> int:
        self.steps.append(Step(function, operands, tuple(parameters)))
        return self.last

    @property
    def last(self) -> int:
        return self.inputs + len(self.steps) - 1

    def constant(self, value: float, dtype: str) -> int:
        return self("constant", parameters=(value, dtype))

    @property
    def program(self) -> Program:
        return Program(self.inputs, tuple(self.steps))


def _renumbered(step: Step, place: dict[int, int]) -> Step:
    return Step(step.function, tuple(place[n] for n in step.operands), step.parameters)
