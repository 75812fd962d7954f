"""Programs of the system that tests use where they are installed."""

import os
import shutil

import pytest


def program(name: str, package: str = "") -> str:
    """Return the path of the program.

    Without it, skip the test with one line that tells how to install it.
    """
    path = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))
    if path is None:
        pytest.skip(f"{name} is not installed (Debian: apt-get install {package or name})")
    return path
