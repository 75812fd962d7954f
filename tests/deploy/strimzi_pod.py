"""The files and variables that Strimzi gives to the pod of Cruise Control, under a temporary root."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "deploy" / "strimzi"
USERS = """rebalance-operator: rebalance, ADMIN
healthcheck: probe, USER
topic-operator: topics, ADMIN
"""
PROPERTIES = """# written by Strimzi
default.goals=com.linkedin.kafka.cruisecontrol.analyzer.goals.RackAwareGoal
metric.reporter.topic=strimzi.cruisecontrol.metrics
num.concurrent.partition.movements.per.broker=7
sample.store.topic.replication.factor=1
webserver.security.enable=true
"""
CAPACITIES = '{"brokerCapacities": [{"brokerId": "-1", "capacity": {"DISK": "100000"}}]}'


class StrimziPod:
    """A pod without a process yet."""

    def __init__(self, root: Path, bootstrap: str, port: int = 9090) -> None:
        self.root, self.port = root, port
        self.variables = {
            "STRIMZI_KAFKA_BOOTSTRAP_SERVERS": bootstrap,
            "STRIMZI_CC_API_AUTH_ENABLED": "true",
            "STRIMZI_CC_TLS_ENABLED": "false",
            "STRIMZI_CC_MTLS_ENABLED": "false",
            "API_PORT": str(port),
            "API_HEALTHCHECK_PATH": "/kafkacruisecontrol/state",
            "API_HEALTHCHECK_USERNAME": "healthcheck",
        }
        self.write("opt/cruise-control/api-auth-config/cruise-control.authFile", USERS)
        self.write("opt/cruise-control/api-auth-config/healthcheck.password", "probe")
        self.write("opt/cruise-control/custom-config/cruisecontrol.properties", PROPERTIES)
        self.write("opt/cruise-control/custom-config/capacity.json", CAPACITIES)

    @property
    def log(self) -> Path:
        return self.root / "log"

    def secure(self, certificates: Path, name: str) -> None:
        """Mount `NAME.crt` and `NAME.key` as the certificate of the pod, and the authority that signed it."""
        self.variables |= {"STRIMZI_CC_TLS_ENABLED": "true", "STRIMZI_CC_MTLS_ENABLED": "true"}
        own = "etc/cruise-control/cc-certs/cruise-control"
        self.write(f"{own}.crt", (certificates / f"{name}.crt").read_text())
        self.write(f"{own}.key", (certificates / f"{name}.key").read_text())
        self.write("etc/cruise-control/cluster-ca-certs/ca.crt", (certificates / "ca.pem").read_text())

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    @property
    def environment(self) -> Mapping[str, str]:
        """What the scripts get; `python3` and `reassignd` are those of the tests."""
        programs = self.root / "bin"
        programs.mkdir(exist_ok=True)
        if not (programs / "python3").exists():
            (programs / "python3").symlink_to(sys.executable)
        path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        records = {"REASSIGND_ROOT": str(self.root), "REASSIGND_DATA_DIR": str(self.root / "records")}
        return {**os.environ, **self.variables, **records, "PATH": path}

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run a script to its end."""
        return subprocess.run(
            [SCRIPTS / script], env=self.environment, capture_output=True, text=True, check=False
        )

    def write_settings(self) -> subprocess.CompletedProcess[str]:
        """Write the settings without a start."""
        return subprocess.run(
            [sys.executable, SCRIPTS / "settings.py"],
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )

    def settings(self) -> dict[str, str]:
        """Return the settings that are written, by key."""
        lines = Path(self.write_settings().stdout.strip()).read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[str]]:
        """Run the pod's process until the end; it must stop cleanly. What it logs is in the file `log`."""
        command = [SCRIPTS / "cruise_control_run.sh"]
        with (
            self.log.open("w") as log,
            subprocess.Popen(
                command, env=self.environment, stdout=subprocess.PIPE, stderr=log, text=True
            ) as process,
        ):
            try:
                assert process.stdout is not None
                assert process.stdout.readline().startswith("ready: ")
                yield process
            finally:
                process.terminate()
                process.communicate(timeout=120)
        assert process.returncode == 0, self.log.read_text()
