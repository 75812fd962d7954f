"""The scripts of the image for Strimzi: what they read, and what they refuse."""

import runpy
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from server.cruisecontrol.shared.detection import JUDGED
from tests.deploy.programs import program
from tests.deploy.strimzi_pod import SCRIPTS, StrimziPod
from tools import certificates


@pytest.fixture
def pod(tmp_path: Path) -> StrimziPod:
    return StrimziPod(tmp_path, "my-cluster-kafka-bootstrap:9091")


def test_settings_of_cruise_control_become_those_of_reassignd(pod: StrimziPod) -> None:
    settings = pod.settings()
    assert settings["cluster.name"] == "my-cluster"
    assert settings["state"] == "topic"
    assert settings["state.topic.replication.factor"] == "1"
    assert settings["reassignment.max.concurrent.replica.movements.per.broker"] == "7"
    assert settings["reassignment.max.concurrent.replica.movements"] == "1250"
    assert settings["reassignment.load.metrics.topic"] == "strimzi.cruisecontrol.metrics"
    assert "my-cluster-cruise-control.default.svc" in settings["http.allowed.hosts"].split(",")


def test_the_pod_starts_with_these_settings(pod: StrimziPod, tmp_path: Path) -> None:
    certificates.make(tmp_path, ["cruise-control"])
    pod.secure(tmp_path, "cruise-control")
    pod.settings()
    file = tmp_path / "tmp/cruise-control/reassignd.properties"
    check = [sys.executable, "-m", "reassignd", "serve", "--config", str(file), "--check-config"]
    done = subprocess.run(check, env=pod.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_with_tls_only_version_1_3_is_served_and_brokers_see_the_certificate(
    pod: StrimziPod, tmp_path: Path
) -> None:
    certificates.make(tmp_path, ["cruise-control"])
    pod.secure(tmp_path, "cruise-control")
    settings = pod.settings()
    assert settings["http.tls.min.version"] == "TLSv1.3"
    assert "http.allowed.hosts" not in settings
    client = Path(settings["upstream.command.config"]).read_text()
    assert "security.protocol=SSL" in client
    identity = tmp_path / "tmp/cruise-control/identity.pem"
    assert f"ssl.keystore.location={identity}" in client
    assert identity.read_text().count("-----BEGIN") == 2


def test_what_has_no_effect_is_named(pod: StrimziPod) -> None:
    assert "keys of cruisecontrol.properties without effect: default.goals\n" in pod.write_settings().stderr


def test_a_pod_without_authentication_is_refused(pod: StrimziPod) -> None:
    pod.variables["STRIMZI_CC_API_AUTH_ENABLED"] = "false"
    done = pod.run("cruise_control_run.sh")
    assert done.returncode == 1
    assert "webserver.security.enable=false is not supported" in done.stderr


def test_goals_that_are_not_detected_are_left_out(pod: StrimziPod) -> None:
    goals = "com.linkedin.kafka.cruisecontrol.analyzer.goals"
    pod.write(
        "opt/cruise-control/custom-config/cruisecontrol.properties",
        f"anomaly.detection.goals={goals}.RackAwareGoal,{goals}.DiskCapacityGoal\n",
    )
    assert pod.settings()["cruisecontrol.anomaly.detection.goals"] == "DiskCapacityGoal"


def test_the_detected_goals_are_those_of_the_server() -> None:
    assert runpy.run_path(str(SCRIPTS / "settings.py"))["JUDGED"] == set(JUDGED)


def test_secrets_are_written_for_the_user_of_the_pod_only(pod: StrimziPod, tmp_path: Path) -> None:
    pod.variables["STRIMZI_KAFKA_BOOTSTRAP_SERVERS"] = "nothing"
    assert pod.run("cruise_control_run.sh").returncode != 0
    for path in (tmp_path / "tmp/cruise-control").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_pod_that_does_not_answer_is_not_healthy(pod: StrimziPod) -> None:
    pod.variables["API_PORT"] = "9"
    done = pod.run("cruise_control_healthcheck.sh")
    assert done.returncode == 1
    assert "the API does not answer" in done.stderr


def test_the_scripts_have_no_findings_of_shellcheck() -> None:
    shellcheck = program("shellcheck")
    done = subprocess.run(
        [shellcheck, *sorted(SCRIPTS.glob("*.sh"))], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
