"""The levels of x86-64 that this machine runs, for tests that run code for each."""

from tilewright.runtime.cpu import surely_runs
from tilewright.target import Target

LEVELS = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")
HERE = tuple(level for level in LEVELS if surely_runs(Target(level)))
