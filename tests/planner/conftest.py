import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.spark import SETTINGS, java_for_spark
from tools.ports import free_port


@pytest.fixture
def connect_server(tmp_path: Path) -> Iterator[str]:
    """A Spark Connect server; its address."""
    import pyspark

    port = free_port()
    settings = {
        **SETTINGS,
        "spark.connect.grpc.binding.port": port,
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    options = [text for name, value in settings.items() for text in ("--conf", f"{name}={value}")]
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    name = "org.apache.spark.sql.connect.service.SparkConnectServer"
    with java_for_spark():
        server = subprocess.Popen(  # noqa: S603 - PySpark's own
            [submit, "--master", "local[2]", *options, "--class", name, "spark-internal"],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=tmp_path,
            start_new_session=True,
        )
        try:
            while not listens(port):
                assert server.poll() is None
                time.sleep(0.1)
            yield f"sc://127.0.0.1:{port}"
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
