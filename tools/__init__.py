"""Help for tests and benchmarks; no part of what is installed."""
