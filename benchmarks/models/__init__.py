"""Models that the benchmarks write themselves, so that none need be downloaded."""
