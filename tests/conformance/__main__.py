"""Run the backend tests of the `onnx` package: `python -m tests.conformance`."""

from __future__ import annotations

import argparse
import sys

from tests.conformance import document, pool, record, report
from tests.conformance.cases import KINDS, load
from tests.conformance.check import BAD, Verdict


def main() -> int:
    """Return 1 if a case was wrong, failed or crashed, or if one that passed does not any more."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--kind", action="append", choices=KINDS, help="only cases of this kind")
    parser.add_argument("--filter", default="", help="only cases whose names contain this text")
    parser.add_argument("--list", choices=[v.value for v in Verdict], help="name such cases")
    parser.add_argument("--workers", type=int, default=2, help="processes that check cases")
    parser.add_argument("--record", action="store_true", help=f"write {record.PATH.name} anew")
    parser.add_argument("--document", action="store_true", help="write docs/onnx.md anew, and end")
    options = parser.parse_args()
    if options.record and (options.kind or options.filter):
        parser.error("--record is of all cases; leave out --kind and --filter")
    if options.document:
        document.PATH.write_text(document.text())
        return 0
    cases = load(tuple(options.kind or KINDS), options.filter)
    if not cases:
        parser.error(f"no case has {options.filter!r} in its name")
    outcomes = pool.run(cases, options.workers)
    if options.list:
        print(report.listed([o for o in outcomes if o.verdict == options.list]) + "\n")
    print("Refused operators, by number of cases:", report.unsupported(outcomes), "", sep="\n")
    if found := report.broken(outcomes):
        print(found + "\n")
    print(report.summary(outcomes))
    if options.record:
        record.write(outcomes)
        document.PATH.write_text(document.text())
    gone = record.lost(outcomes, record.read()[1]) if record.PATH.exists() else []
    if gone:
        print("\nno longer passed:", *gone, sep="\n")
    return int(bool(gone) or any(outcome.verdict in BAD for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
