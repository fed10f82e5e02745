"""A process that checks cases: names come in, a line each; outcomes go out as lines of JSON."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict

from tests.conformance.cases import load
from tests.conformance.check import check


def main(kinds: tuple[str, ...]) -> None:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a case prints is no reply
    cases = {case.name: case for case in load(kinds)}
    for line in sys.stdin:
        print(json.dumps(asdict(check(cases[line.strip()]))), file=replies, flush=True)


if __name__ == "__main__":
    main(tuple(sys.argv[1:]))
