"""What a run of the cases found, as text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from tests.conformance.cases import MEASURED
from tests.conformance.check import BAD, GOOD, LEFT_OUT, Outcome, Verdict


def summary(outcomes: Sequence[Outcome]) -> str:
    """Count the verdicts by kind of case, and say which share of the measure passed."""
    kinds = list(dict.fromkeys(outcome.kind for outcome in outcomes))
    counts = Counter((outcome.verdict, outcome.kind) for outcome in outcomes)
    width = max(map(len, Verdict))
    lines = [" " * width + "".join(f"{kind:>{len(kind) + 2}}" for kind in kinds)]
    for verdict in Verdict:
        numbers = "".join(f"{counts[verdict, kind]:>{len(kind) + 2}}" for kind in kinds)
        lines.append(f"{verdict:{width}}{numbers}")
    passed, whole = share(outcomes)
    if whole:
        lines += ["", f"{passed} of {whole} tensor programs passed: {passed / whole:.1%}"]
    return "\n".join(lines)


def share(outcomes: Sequence[Outcome]) -> tuple[int, int]:
    """Return how many cases of the measure passed, and how many there are.

    It covers node and simple tests that are tensor programs on floats, integers and bools.
    """
    measured = [o for o in outcomes if o.kind in MEASURED and o.verdict not in LEFT_OUT]
    return sum(o.verdict in GOOD for o in measured), len(measured)


def unsupported(outcomes: Sequence[Outcome]) -> str:
    """Rank the operators that were refused by the number of cases, with the commonest reason."""
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    alone: Counter[str] = Counter()
    for outcome in outcomes:
        if outcome.verdict is Verdict.UNSUPPORTED:
            for operator, why in outcome.refused or (("(the model)", _first(outcome.why)),):
                reasons[operator][why] += 1
            alone.update(outcome.refused[0][:1] if len(outcome.refused) == 1 else ())
    ranked = sorted(reasons.items(), key=lambda item: (-item[1].total(), item[0]))
    return "\n".join(
        f"{why.total():5} {operator} (alone in {alone[operator]}): {why.most_common(1)[0][0]:.120}"
        for operator, why in ranked
    )


def broken(outcomes: Sequence[Outcome]) -> str:
    """List what failed, was wrong or crashed."""
    return listed([outcome for outcome in outcomes if outcome.verdict in BAD])


def listed(outcomes: Sequence[Outcome]) -> str:
    return "\n".join(f"{o.verdict}: {o.name}: {_first(o.why)}" for o in outcomes)


def _first(text: str) -> str:
    return text.partition("\n")[0]
