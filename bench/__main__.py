"""All benchmarks, one after the other: `python -m bench`, or `make bench`."""

import platform
import subprocess
import sys

BENCHMARKS = (
    "bench.codec",
    "bench.api_speed",
    "bench.large_requests",
    "bench.million",
    "bench.batched",
    "bench.planner",
)


def main() -> int:
    """Each in a process of its own, so that none warms up another; 1 where one failed."""
    print(f"Python {platform.python_version()} on {platform.platform()}\n", flush=True)
    failed = 0
    for name in BENCHMARKS:
        print(f"## {name}\n", flush=True)
        failed |= subprocess.run([sys.executable, "-m", name], check=False).returncode != 0
        print(flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
