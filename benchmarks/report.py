"""Run the benchmarks and write their tables into RESULTS.md.

    python -m benchmarks.report [NAME ...] [--out FILE] [-- OPTION ...]

What a benchmark prints takes the place of what stood between its marks; all else in the file was
written by hand, and stays. Options after `--` go to every benchmark that is named.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

# In the order in which they run, with the titles that new files get.
SECTIONS = {
    "operators": "Operators",
    "depthwise": "MobileNet's layers",
    "rows": "Work that memory limits",
    "integer": "Integers of 8 bits",
    "networks": "Networks",
    "levels": "Levels of x86",
    "search_rate": "Search",
}


def main(arguments: list[str] | None = None) -> None:
    arguments = sys.argv[1:] if arguments is None else arguments
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SECTIONS)}")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("RESULTS.md"))
    args = parser.parse_args(arguments[:cut])
    if unknown := [name for name in args.names if name not in SECTIONS]:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(SECTIONS)}.")
    failed: list[str] = []
    for name in args.names or SECTIONS:
        printed = _run(name, arguments[cut + 1 :])
        if printed is None:
            failed.append(name)
            continue
        before = args.out.read_text() if args.out.exists() else ""
        args.out.write_text(replaced(before, name, printed, SECTIONS[name]))
    if failed:
        raise SystemExit(f"These failed, and what {args.out} said of them stays: {failed}")


def replaced(text: str, name: str, body: str, title: str) -> str:
    """Return the text with `body` between the marks of a benchmark, or in a new section.

    >>> print(replaced("By hand.", "rows", "new", "Rows"))
    By hand.
    <BLANKLINE>
    # Rows: `python -m benchmarks.rows`
    <BLANKLINE>
    <!-- benchmarks.rows -->
    <BLANKLINE>
    new
    <BLANKLINE>
    <!-- /benchmarks.rows -->
    <BLANKLINE>
    """
    begin, end = f"<!-- benchmarks.{name} -->", f"<!-- /benchmarks.{name} -->"
    generated = f"{begin}\n\n{body.strip()}\n\n{end}"
    if begin not in text and end not in text:
        section = f"# {title}: `python -m benchmarks.{name}`\n\n{generated}\n"
        return f"{text.rstrip()}\n\n{section}" if text.strip() else section
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(end) < text.index(begin):
        raise ValueError(
            f"cannot tell what benchmarks.{name} wrote: {begin} and {end} should each stand there "
            "once, in this order; mend the file, or take both out for a new section."
        )
    before, rest = text.split(begin)
    return before + generated + rest.split(end)[1]


def _run(name: str, options: list[str]) -> str | None:
    """Run a benchmark, show what it prints, and return that; None if it fails."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *options]
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    return "".join(lines) if process.returncode == 0 else None


if __name__ == "__main__":
    main()
