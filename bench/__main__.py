"""Run the main benchmarks in sequence: `python -m bench`, or `make bench`."""

import platform
import subprocess
import sys

BENCHMARKS = (
    ("bench.codec",),
    ("bench.api_speed",),
    ("bench.large_requests",),
    ("bench.queued_partitions",),
    ("bench.batched_plans",),
    ("bench.planner",),
    ("bench.proposals", "--sizes", "small,10k,200k"),
)
"""Modules, with arguments where the default takes many minutes."""


def main() -> int:
    """Run each benchmark in its own process, so that none warms up another. Return 1 if one failed."""
    print(f"Python {platform.python_version()} on {platform.platform()}\n", flush=True)
    failed = 0
    for command in BENCHMARKS:
        print(f"## {' '.join(command)}\n", flush=True)
        failed |= subprocess.run([sys.executable, "-m", *command], check=False).returncode != 0
        print(flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
