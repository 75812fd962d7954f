"""Tools for tests, benchmarks and the build. They are not installed."""
