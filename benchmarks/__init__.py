"""Benchmarks: ratios between subjects that were timed side by side, in one run."""
