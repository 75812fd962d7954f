"""The examples of tests in other languages run as they are."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reassignd.shell import create_topic
from tools.java import java_command
from tools.processes import Reassignd

EXAMPLES = Path(__file__).parents[2] / "examples"
ENVIRONMENT = {**os.environ, "REASSIGND": str(Path(sys.executable).with_name("reassignd"))}


def test_the_java_example_moves_a_partition() -> None:
    command = java_command("tools-4.3", str(EXAMPLES / "java" / "MovePartition.java"))
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "replicas [3, 2]\n", done.stderr


def test_the_python_examples_move_partitions(tmp_path: Path) -> None:
    settings = {"embedded.partition.bytes": "100000", "embedded.tick.ms": "20"}
    server = Reassignd(tmp_path / "data", settings)
    server.start()
    try:
        create_topic(server.bootstrap, [[1, 2]] * 24, "clicks")
        blocking = _python("blocking.py", server.bootstrap, f"http://{server.http}")
        in_asyncio = _python("in_asyncio.py", server.bootstrap)
    finally:
        server.kill()
    assert blocking.splitlines() == ["job 1: done", "job 2: done, the replicas are as before"]
    assert in_asyncio.splitlines()[0] == "job 3"


def _python(name: str, *arguments: str) -> str:
    command = [sys.executable, str(EXAMPLES / "python" / name), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


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
