"""What Linux says of the CPU: never more than LLVM does, and where it says less LLVM is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilewright.errors import TargetError
from tilewright.runtime.artifact import check_runs_here
from tilewright.runtime.cpu import surely_runs
from tilewright.target import LEVELS, Target, host

X86 = pytest.mark.skipif(host().architecture != "x86_64", reason="x86 code")
FLAGS = "tilewright.runtime.cpu._flags"
V3 = frozenset({
    "sse2", "pni", "ssse3", "sse41", "sse42", "popcnt",
    "avx", "avx2", "f16c", "fma", "bmi1", "bmi2",
})  # fmt: skip


@X86
def test_it_never_promises_what_llvm_denies() -> None:
    base = Target("x86-64")
    for feature in host().features:
        said = surely_runs(replace(base, features=(f"+{feature[1:]}",)))
        assert not said or feature[0] == "+" or feature[1:] in ("rdseed", "shstk"), feature


@X86
def test_every_machine_runs_the_least() -> None:
    assert surely_runs(Target("x86-64"))
    for other in "aarch64", "neoverse-n1":
        assert not surely_runs(Target(other))


@X86
@pytest.mark.parametrize("level", [name for name in LEVELS if name.startswith("x86")])
def test_levels_are_what_they_imply(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FLAGS, lambda: V3)
    assert surely_runs(Target(level)) == (level != "x86-64-v4")
    for without in V3 - {"sse2"}:
        monkeypatch.setattr(FLAGS, lambda: V3 - {without})  # noqa: B023 (called in this round)
        assert not surely_runs(Target("x86-64-v3")), without


@X86
def test_names_of_linux_are_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FLAGS, lambda: V3 | {"lm", "abm", "shani", "avx512vnni", "avxvnni"})
    target = replace(
        Target("x86-64-v3"),
        features=("+64bit", "+lzcnt", "+sha", "+rdseed", "+sse4.2", "-avx512f", "+avx512vnni"),
    )
    assert surely_runs(target)
    assert not surely_runs(replace(target, features=("+amx-tile",)))


@X86
def test_where_linux_says_nothing_llvm_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FLAGS, frozenset[str])
    assert not surely_runs(host())
    check_runs_here(host())
    with pytest.raises(TargetError, match=r"lacks \+made-up"):
        check_runs_here(replace(host(), name="odd", features=("+made-up",)))
