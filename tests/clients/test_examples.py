"""The examples of tests in other languages run as they are."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.java import java_command

EXAMPLES = Path(__file__).parents[2] / "examples"
ENVIRONMENT = {**os.environ, "REASSIGND": str(Path(sys.executable).with_name("reassignd"))}


def test_the_java_example_moves_a_partition() -> None:
    command = java_command("tools-4.3", str(EXAMPLES / "java" / "MovePartition.java"))
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "replicas [3, 2]\n", done.stderr


def test_the_go_example_moves_a_partition() -> None:
    go = shutil.which("go", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/go/bin"]))
    if go is None:
        pytest.skip("go is not installed")
    command = [go, "test", "-count=1", "./..."]
    done = subprocess.run(
        command,
        cwd=EXAMPLES / "go",
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=170,
    )
    assert done.returncode == 0, done.stdout + done.stderr
