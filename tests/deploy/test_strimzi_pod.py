"""The image's scripts in a pod's place, before brokers that require certificates: the API, and the probes."""

import json
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.cluster import wait_for
from tests.deploy.programs import program
from tests.deploy.strimzi_pod import StrimziPod
from tools import certificates
from tools.ports import free_port
from tools.processes import Reassignd

AUTHORITY = "etc/cruise-control/cluster-ca-certs/ca.crt"
LOGIN = "opt/cruise-control/api-auth-config/healthcheck.password"


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reassignd]:
    """An embedded cluster in which nobody has rights but `CN=admin`."""
    folder = tmp_path_factory.mktemp("brokers")
    certificates.make(folder, ["broker", "admin"])
    settings = {
        "advertised.host": "localhost",
        "listener.tls.certificate.file": str(folder / "broker.pem"),
        "listener.tls.client.ca.file": str(folder / "ca.pem"),
        "ssl.client.auth": "required",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:CN=admin",
    }
    brokers = Reassignd(folder / "data", settings, 3)
    brokers.start()
    yield brokers
    assert brokers.stop() == 0


@pytest.fixture(scope="module")
def pod(brokers: Reassignd, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StrimziPod]:
    """A pod whose certificate is that of a super user. The embedded cluster has no topics for records."""
    bootstrap = brokers.bootstrap.replace("127.0.0.1", "localhost")
    pod = StrimziPod(tmp_path_factory.mktemp("pod"), bootstrap, free_port())
    pod.secure(brokers.data_dir.parent, "admin")
    pod.variables["REASSIGND_STATE"] = "directory"
    with pod.running():
        yield pod


def test_strimzis_probe_succeeds(pod: StrimziPod) -> None:
    curl = program("curl")
    probe = ["--cacert", str(pod.root / AUTHORITY), "--user", "healthcheck:probe"]
    url = f"https://localhost:{pod.port}/kafkacruisecontrol/state"
    done = subprocess.run([curl, "-sf", *probe, url], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ExecutorState"]["state"] == "NO_TASK_IN_PROGRESS"


def test_the_probe_of_the_image_succeeds_and_tells_a_wrong_password(pod: StrimziPod) -> None:
    assert pod.run("cruise_control_healthcheck.sh").returncode == 0
    pod.write(LOGIN, "wrong")
    done = pod.run("cruise_control_healthcheck.sh")
    pod.write(LOGIN, "probe")
    assert (done.returncode, done.stderr) == (1, "the API answers with status 401\n")


def test_only_tls_1_3_is_served(pod: StrimziPod) -> None:
    context = ssl.create_default_context(cafile=pod.root / AUTHORITY)
    assert handshake(pod, context) == "TLSv1.3"
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError):
        handshake(pod, context)
    # The server ends the connection without an alert: only its log has the reason.
    wait_for(lambda: "the TLS handshake failed: [SSL: UNSUPPORTED_PROTOCOL]" in pod.log.read_text(), True)


def handshake(pod: StrimziPod, context: ssl.SSLContext) -> str | None:
    """Return the version of TLS that is agreed on."""
    with (
        socket.create_connection(("localhost", pod.port)) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as connected,
    ):
        return connected.version()


def test_secrets_stay_with_the_user_of_the_pod(pod: StrimziPod) -> None:
    for path in Path(pod.root, "tmp/cruise-control").iterdir():
        assert path.stat().st_mode & 0o077 == 0, path
