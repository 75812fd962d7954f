"""The Helm chart: helm accepts it, Kubernetes' schemas fit, and reassignd accepts the settings that it renders."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reassignd import __version__
from reassignd.config.config import Assignment, Settings, read_file, resolve
from tools import kubernetes

yaml = pytest.importorskip("yaml", reason="pyyaml is not installed (requirements/test.txt)")

FOLDER = Path(__file__).parents[2] / "deploy" / "helm"
CHART = FOLDER / "reassignd"
EXAMPLES = sorted((FOLDER / "examples").glob("*.yaml"))

CRDS = "ServiceMonitor,PrometheusRule"
"""Kinds of the Prometheus operator, which Kubernetes' own document does not describe."""


def run(program: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    path = program if program.exists() else shutil.which(program.name)
    if path is None:
        pytest.skip(f"{program.name} is not installed (python -m tools.kubernetes builds it with Go)")
    return subprocess.run([path, *arguments], capture_output=True, text=True, check=False)


def template(*arguments: str | Path) -> str:
    rendered = run(
        kubernetes.HELM, "template", "my", CHART, "--kube-version", kubernetes.KUBERNETES, *arguments
    )
    assert rendered.returncode == 0, rendered.stderr
    return rendered.stdout


def resources(*arguments: str | Path) -> dict[str, Any]:
    """Return the rendered objects by kind."""
    return {each["kind"]: each for each in yaml.safe_load_all(template(*arguments)) if each}


def settings(rendered: dict[str, Any], tmp_path: Path) -> Settings:
    file = tmp_path / "reassignd.properties"
    file.write_text(rendered["ConfigMap"]["data"]["reassignd.properties"], "utf-8")
    peer = Assignment("gateway.peer.host", "10.0.0.1", "environment of the pod")
    return resolve([peer, *(each for each in read_file(file) if not each.value.startswith("/secrets"))])


@pytest.fixture(params=EXAMPLES, ids=lambda path: path.stem)
def example(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def test_helm_accepts_the_chart(example: Path) -> None:
    done = run(kubernetes.HELM, "lint", "--strict", CHART, "--values", example)
    assert done.returncode == 0, done.stdout + done.stderr


def conform(documents: Path) -> subprocess.CompletedProcess[str]:
    if not kubernetes.SCHEMAS.exists():
        pytest.skip("the schemas of Kubernetes are not there (python -m tools.kubernetes)")
    schemas = f"{kubernetes.SCHEMAS}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    return run(kubernetes.KUBECONFORM, "-strict", "-skip", CRDS, "-schema-location", schemas, documents)


def test_the_objects_fit_kubernetes(example: Path, tmp_path: Path) -> None:
    documents = tmp_path / "rendered.yaml"
    documents.write_text(template("--values", example), "utf-8")
    done = conform(documents)
    assert done.returncode == 0, done.stdout


def test_an_unknown_field_would_be_noticed(tmp_path: Path) -> None:
    documents = tmp_path / "rendered.yaml"
    text = template("--values", EXAMPLES[0]).replace("serviceName:", "serviceNome:")
    documents.write_text(text, "utf-8")
    assert conform(documents).returncode == 1


def test_reassignd_accepts_the_settings(example: Path, tmp_path: Path) -> None:
    read = settings(resources("--values", example), tmp_path)
    assert read.backend == "upstream"
    assert read.advertised_host == "my-reassignd.default.svc"


def test_large_limits_are_whole_numbers(tmp_path: Path) -> None:
    read = settings(resources("--values", FOLDER / "examples" / "topic.yaml"), tmp_path)
    assert read.initial_limits["reassignment.throttle.bytes.per.second"] == "50000000"


def test_the_directory_shape_is_one_pod_with_a_volume() -> None:
    rendered = resources("--values", FOLDER / "examples" / "directory.yaml")
    assert "Deployment" not in rendered
    assert "PodDisruptionBudget" not in rendered
    spec = rendered["StatefulSet"]["spec"]
    assert spec["replicas"] == 1
    assert spec["volumeClaimTemplates"][0]["metadata"]["name"] == "data"


def test_the_topic_shape_is_two_pods_without_a_volume_that_find_each_other() -> None:
    rendered = resources("--values", FOLDER / "examples" / "topic.yaml")
    spec = rendered["Deployment"]["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    pod = spec["template"]["spec"]
    assert not [volume for volume in pod["volumes"] if "persistentVolumeClaim" in volume]
    environment = {each["name"]: each.get("value") for each in pod["containers"][0]["env"]}
    assert environment["REASSIGND_GATEWAY_PEER_HOST"] == "$(POD_IP)"
    assert environment["REASSIGND_GATEWAY_PEER_URL"] == "https://$(POD_IP):9080"
    assert "podAntiAffinity" in pod["affinity"]
    assert rendered["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1


def test_the_service_has_a_port_for_each_broker(example: Path) -> None:
    rendered = resources("--values", example)
    values = yaml.safe_load(example.read_text("utf-8"))
    brokers = values.get("listener", {}).get("brokers", 6)
    ports = [each["port"] for each in rendered["Service"]["spec"]["ports"]]
    assert ports == [*range(9092, 9093 + brokers), 9080]


def test_pods_run_without_privileges(example: Path) -> None:
    rendered = resources("--values", example)
    workload = rendered.get("StatefulSet") or rendered["Deployment"]
    pod = workload["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    [container] = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize(
    ("missing", "complaint"),
    [
        ("upstream.bootstrapServers=", "set upstream.bootstrapServers"),
        ("http.tokenSecret.name=", "set http.tokenSecret.name or http.accessSecret.name"),
        ("state.kind=topic", "set state.peerSecret"),
        ("state.kind=file", "at '/state/kind'"),
    ],
)
def test_a_missing_value_is_named(missing: str, complaint: str) -> None:
    arguments: list[str | Path] = ["--values", EXAMPLES[0], "--set", missing]
    done = run(kubernetes.HELM, "template", "my", CHART, "--kube-version", kubernetes.KUBERNETES, *arguments)
    assert done.returncode == 1
    assert complaint in done.stderr


def test_the_chart_has_the_version_of_the_package_and_its_alerts() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert chart["version"] == chart["appVersion"] == __version__
    alerts = FOLDER.parent / "prometheus" / "reassignd-alerts.yml"
    assert (CHART / "files" / alerts.name).read_text("utf-8") == alerts.read_text("utf-8")
