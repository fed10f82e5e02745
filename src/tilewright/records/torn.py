"""Was a line of JSON cut off, or was it never one?"""

from __future__ import annotations

import json
import re

# Whole strings and what is outside of strings; what is left over is a string without its end.
_WHOLE = re.compile(r'(?:[^"]|"(?:[^"\\\x00-\x1f]|\\.)*")*')
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{0,4}|\Z))*\Z')
_WORD = re.compile(r"[-+.\w]+\Z", re.ASCII)
_NUMBER = re.compile(r"-?\d*\.?\d*([eE][-+]?\d*)?\Z", re.ASCII)
_NAMES = ("true", "false", "null", "NaN", "Infinity", "-Infinity")


def is_torn(line: str) -> bool:
    """Return whether `line` is the beginning of a JSON object, and not all of it.

    >>> [is_torn(line) for line in ('{"a": [1, "b', '{"a": tr', '{"a"', '{"a": 1}', "a: 1", "")]
    [True, True, True, False, False, False]
    """
    if not line.startswith("{") or _parses(line):
        return False
    whole = _WHOLE.match(line)
    assert whole
    head, rest = line[: whole.end()], line[whole.end() :]
    if rest:
        if not _STRING.match(rest):
            return False
        head += '""'
    elif word := _WORD.search(head):
        part = word.group()
        if not _NUMBER.match(part) and not any(name.startswith(part) for name in _NAMES):
            return False
        head = f"{head[: word.start()]}0"
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", head)
    ends = "".join({"{": "}", "[": "]"}.get(c, "") for c in reversed(_open(bare)))
    return any(_parses(head + tail + ends) for tail in ("", "0", ":0", '"":0'))


def _open(text: str) -> str:
    """Return the brackets open at the end of a text without strings, the outermost first."""
    stack: list[str] = []
    for c in text:
        if c in "{[":
            stack.append(c)
        elif c in "}]" and stack:
            stack.pop()
    return "".join(stack)


def _parses(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
