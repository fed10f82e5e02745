"""Config: one value for each knob; s in the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, Union

from tilewright.errors import SpaceError

Value: TypeAlias = Union[bool, int, float, str, tuple["Value", ...], None]  # noqa: UP007 recursive


@dataclass(frozen=True, slots=True)
class Config:
    """An ordered set of knob values, hashable and equal by value.

    >>> c = Config((("y", (8, 4)), ("unroll", True)))
    >>> c
    Config(y=8x4, unroll=True)
    >>> c["y"]
    (8, 4)
    >>> Config.from_json(c.to_json()) == c
    True
    """

    items: tuple[tuple[str, Value], ...] = ()

    def __getitem__(self, name: str) -> Any:
        for known, value in self.items:
            if known == name:
                return value
        raise SpaceError(f"{self!r} has no knob {name!r}; it has {', '.join(self) or 'none'}.")

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{name}={_text(value)}' for name, value in self.items)})"

    def to_json(self) -> dict[str, Any]:
        """Return a dict of what JSON can hold; tuples become lists."""
        return {name: _thaw(value) for name, value in self.items}

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Config:
        """Read what `to_json` wrote; raise `SpaceError` on a value that is no knob's."""
        return Config(tuple((name, freeze(value, name)) for name, value in values.items()))


def freeze(value: Any, name: str) -> Value:
    """Turn lists into tuples, all the way down; refuse what JSON cannot bring back."""
    if isinstance(value, (list, tuple)):
        return tuple(freeze(v, name) for v in value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise SpaceError(
        f"knob {name!r} cannot have the value {value!r}: a {type(value).__name__} does not survive "
        "JSON; use a bool, int, float, str, None or a tuple of these."
    )


def _thaw(value: Value) -> Any:
    return [_thaw(v) for v in value] if isinstance(value, tuple) else value


def _text(value: Value) -> str:
    if isinstance(value, tuple) and value and all(type(v) is int for v in value):
        return "x".join(map(str, value))
    if isinstance(value, tuple):
        return f"({' '.join(map(_text, value))})"
    return str(value)
