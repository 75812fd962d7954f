"""Pip, as the tests of what is installed use it."""

import subprocess
import sys


def pip(*arguments: str) -> None:
    """Run pip without its look for a newer version. Raises CalledProcessError."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, timeout=170)
