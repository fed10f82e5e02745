"""The machine's measured FMA limit: python -m benchmarks.peak"""

from __future__ import annotations

from benchmarks.machine import facts

if __name__ == "__main__":
    print(facts())
