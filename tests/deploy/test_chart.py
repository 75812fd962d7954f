"""The Helm chart: helm accepts it, Kubernetes' schemas fit, and reassignd accepts its settings."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from backends.client.security import PLAINTEXT
from reassignd import __version__
from reassignd.config import command_config
from reassignd.config.settings import Settings
from reassignd.config.sources import Assignment, read_file, resolve
from tests.upstream.test_instances_rights import NEEDED, TRANSACTIONAL_ID
from tests.upstream.test_instances_rights import TOPIC as TOPIC_RIGHT
from tools import kubernetes

yaml = pytest.importorskip("yaml", reason="pyyaml is not installed (requirements/test.txt)")

pytestmark = pytest.mark.whole

FOLDER = Path(__file__).parents[2] / "deploy" / "helm"
CHART = FOLDER / "reassignd"
STRIMZI = FOLDER / "examples" / "strimzi"
TLS = Path(__file__).parents[1] / "reassignd" / "tls"
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


def refusal(*arguments: str | Path, values: Path = EXAMPLES[0]) -> str:
    """Return what helm writes about values that it refuses."""
    version = ("--kube-version", kubernetes.KUBERNETES)
    done = run(kubernetes.HELM, "template", "my", CHART, *version, "--values", values, *arguments)
    assert done.returncode == 1
    return done.stderr


TOPIC = ("--set", "state.kind=topic", "--set", "state.peerSecret=peers")


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("image.repository=", "set image.repository: push the image"),
        ("upstream.bootstrapServers=", "set upstream.bootstrapServers"),
        ("http.tokenSecret=", "set http.tokenSecret.name or http.accessSecret.name"),
        ("state.kind=topic", "set state.peerSecret"),
        ("state.replicas=3", "state.replicas is 3, but state.kind=directory has one pod"),
        ("http.port=9095", "port 9095 is both broker-2 (listener.port + 3) and http.port"),
        ("listener.port=9080", "port 9080 is both listener.port and http.port"),
        ("listener.port=65530", "port 65536 of broker-5 (listener.port + 6) is too large"),
        ("config.listener=0.0.0.0:1", "config has listener, which the chart sets by another value"),
        (r"config.data\.dir=/tmp/x", "config has data.dir, which the chart sets by another value"),
        ("extraEnv[0].name=REASSIGND_LISTENER", "extraEnv has REASSIGND_LISTENER, which the chart sets by"),
        ("extraEnv[0].name=REASSIGND_HTTP_TOKEN_FILE", "extraEnv has REASSIGND_HTTP_TOKEN_FILE, which"),
        ("extraEnv[0].name=REASSIGND_TOKEN_FILE", "extraEnv has REASSIGND_TOKEN_FILE, which the chart sets"),
        ("extraEnv[0].name=POD_IP", "extraEnv has POD_IP, which the chart sets by another value"),
    ],
)
def test_values_that_do_not_fit_are_named_in_one_line(value: str, complaint: str) -> None:
    assert complaint in refusal("--set", value).splitlines()[0]


def test_a_key_may_be_in_config_or_in_limits_but_not_in_both() -> None:
    pace = r"reassignment\.pace=auto"
    assert "reassignment.pace=auto\n" in template("--values", EXAMPLES[0], "--set", f"config.{pace}")
    both = ("--set", f"config.{pace}", "--set", f"limits.{pace}")
    assert "reassignment.pace is in config and in limits" in refusal(*both).splitlines()[0]


def test_extra_variables_may_set_what_the_chart_does_not() -> None:
    variable = {"name": "REASSIGND_LOG_LEVEL", "value": "DEBUG"}
    given = ("--set", "extraEnv[0].name=REASSIGND_LOG_LEVEL", "--set", "extraEnv[0].value=DEBUG")
    pod = resources("--values", EXAMPLES[0], *given)["StatefulSet"]["spec"]["template"]["spec"]
    assert variable in pod["containers"][0]["env"]


def test_a_broker_port_that_is_the_port_between_pods_is_refused() -> None:
    both = "port 9091 is both broker-5 (listener.port + 6) and the port between the pods"
    assert both in refusal(*TOPIC, "--set", "listener.port=9085")


WRONG = {
    "replicas: 3": "'replicas' not allowed",
    "http: {tokensecret: x}": "'tokensecret' not allowed",
    "http: {allowedHosts: a.example.com}": "'/http/allowedHosts': got string, want array",
    "http: {accessSecret: [x]}": "'/http/accessSecret': got array, want",
    "config: {log: {level: DEBUG}}": "'log'",
    "config: {log.levle: DEBUG}": "'log.levle'",
    "config: {max.connections: 0}": "'/config/max.connections': minimum: got 0, want 1",
    "config: {log.level: LOUD}": "'/config/log.level': value must be one of 'DEBUG', 'INFO', 'WARN', 'ERROR'",
    "config: {log.format: false}": "'/config/log.format': value must be one of 'plain', 'json'",
    "config: {sasl.users.file: /more/users}": "'sasl.users.file'",
    "limits: {P: 20}": "'/limits': additional properties 'P' not allowed",
    "limits: {reassignment.max.concurrent.partition.movements: abc}": (
        "'/limits/reassignment.max.concurrent.partition.movements': got string, want integer"
    ),
    "limits: {reassignment.throttle.bytes.per.second: 0}": (
        "'/limits/reassignment.throttle.bytes.per.second': minimum: got 0, want 1"
    ),
    "limits: {reassignment.health.guard: pause}": "'/limits/reassignment.health.guard': value must be one of",
    "limits: {reassignment.schedule: Foo}": "'/limits/reassignment.schedule': 'Foo' does not match pattern",
    "extraEnv: [{value: x}]": "'/extraEnv/0': missing property 'name'",
    "state: {kind: file}": "'/state/kind': value must be one of",
    "service: {type: ExternalName}": "'/service/type': value must be one of",
    "image: {pullPolicy: always}": "'/image/pullPolicy': value must be one of",
    "image: {digest: 'sha256:1'}": "'/image/digest'",
    "resources: {limits: {memory: 1GB}}": "'/resources/limits/memory'",
    "serviceMonitor: {enabled: 'yes'}": "'/serviceMonitor/enabled': got string, want boolean",
    "serviceMonitor: {interval: often}": "'/serviceMonitor/interval'",
    "upstream: {bootstrapServers: 'kafka://kafka:9092'}": "'/upstream/bootstrapServers'",
    "networkPolicy: {kafkaClients: [{podselector: {}}]}": "'/networkPolicy/kafkaClients/0'",
    "networkPolicy: {httpClients: {podSelector: {}}}": "'/networkPolicy/httpClients': got object, want array",
    "fullnameOverride: Upper": "'/fullnameOverride'",
}
"""Values, and what the schema says about them."""


def test_the_schema_names_the_place_of_each_wrong_value(tmp_path: Path) -> None:
    arguments: list[str | Path] = []
    for number, text in enumerate(WRONG):
        file = tmp_path / f"{number}.yaml"
        file.write_text(text, "utf-8")
        arguments += ["--values", file]
    said = refusal(*arguments)
    assert [place for place in WRONG.values() if place not in said] == []


def described(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the keys that a schema knows, as a tree.

    Empty for settings, and for other values than objects with fixed keys.
    """
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        schema = {} if name in {"config", "limits"} else definitions[name]
    if schema.get("type") != "object" or "properties" not in schema:
        return {}
    assert schema["additionalProperties"] is False
    return {name: described(each, definitions) for name, each in schema["properties"].items()}


def test_the_schema_knows_the_values_of_the_chart_and_no_others() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text("utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    tree = described(schema, schema["definitions"])
    tree.pop("global")
    resources_tree = tree.pop("resources")
    assert set(values.pop("resources")) <= set(resources_tree)

    def keys(known: dict[str, Any], given: dict[str, Any]) -> None:
        assert set(known) == set(given)
        for name, below in known.items():
            if below:
                keys(below, given[name])

    keys(tree, values)


def test_a_secret_is_a_name_or_a_name_and_a_key(tmp_path: Path) -> None:
    for secret, path in (("a", "/secrets/token/token"), ("{name: a, key: b}", "/secrets/token/b")):
        file = tmp_path / "values.yaml"
        file.write_text(f"http: {{tokenSecret: {secret}}}", "utf-8")
        rendered = resources("--values", EXAMPLES[0], "--values", file)
        assert f"http.token.file={path}\n" in rendered["ConfigMap"]["data"]["reassignd.properties"]
        pod = rendered["StatefulSet"]["spec"]["template"]["spec"]
        assert {"name": "REASSIGND_TOKEN_FILE", "value": path} in pod["containers"][0]["env"]
        assert "a" in [each["secret"]["secretName"] for each in pod["volumes"] if "secret" in each]


def test_the_names_of_the_service_may_be_requested(tmp_path: Path) -> None:
    values = ("--set", "listener.advertisedHost=kafka.example.com", "--set", "clusterDomain=k8s.internal")
    read = settings(resources("--values", EXAMPLES[0], *values, "--namespace", "ops"), tmp_path)
    service = [
        "my-reassignd",
        "my-reassignd.ops",
        "my-reassignd.ops.svc",
        "my-reassignd.ops.svc.k8s.internal",
    ]
    assert list(read.http_allowed_hosts) == [*service, "kafka.example.com"]


def test_a_digest_replaces_the_tag() -> None:
    digest = f"sha256:{'a' * 64}"
    pod = resources("--values", EXAMPLES[0], "--set", f"image.digest={digest}")["StatefulSet"]["spec"]
    image = pod["template"]["spec"]["containers"][0]["image"]
    assert image == f"registry.example.com/reassignd@{digest}"


def test_a_pod_is_not_restarted_while_the_kafka_cluster_is_down() -> None:
    pod = resources("--values", EXAMPLES[0])["StatefulSet"]["spec"]["template"]["spec"]
    [container] = pod["containers"]
    assert container["startupProbe"]["httpGet"]["path"] == "/healthz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    ready = container["readinessProbe"]
    assert (ready["httpGet"]["path"], ready["timeoutSeconds"], ready["failureThreshold"]) == ("/readyz", 3, 3)


EXTRAS = """
fullnameOverride: mover
extraVolumes: [{name: more, configMap: {name: more}}]
extraVolumeMounts: [{name: more, mountPath: /more}]
extraEnv: [{name: TZ, value: UTC}]
priorityClassName: high
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
workloadAnnotations: {secret.reloader.stakater.com/reload: reassignd-upstream}
tmp: {sizeLimit: 5Gi}
config: {log.format: plain}
"""


def test_additions_to_the_pod_fit_kubernetes(tmp_path: Path) -> None:
    values, documents = tmp_path / "values.yaml", tmp_path / "rendered.yaml"
    values.write_text(EXTRAS, "utf-8")
    documents.write_text(template("--values", EXAMPLES[0], "--values", values), "utf-8")
    done = conform(documents)
    assert done.returncode == 0, done.stdout
    workload = resources("--values", EXAMPLES[0], "--values", values)["StatefulSet"]
    assert workload["metadata"]["name"] == "mover"
    assert "secret.reloader.stakater.com/reload" in workload["metadata"]["annotations"]
    pod = workload["spec"]["template"]["spec"]
    assert {"name": "tmp", "emptyDir": {"sizeLimit": "5Gi"}} in pod["volumes"]
    assert {"name": "more", "mountPath": "/more"} in pod["containers"][0]["volumeMounts"]
    assert pod["priorityClassName"] == "high"


def notes(tmp_path: Path, *arguments: str | Path) -> str:
    """Return what `helm install`, which needs a cluster, would write.

    The notes as a field of one more object.
    """
    chart = shutil.copytree(CHART, tmp_path / "chart")
    text = (CHART / "templates" / "NOTES.txt").read_text("utf-8")
    defined = f'{{{{ define "notes" }}}}{text}{{{{ end }}}}'
    (chart / "templates" / "notes.yaml").write_text(
        f'{defined}\ntext: {{{{ include "notes" . | toJson }}}}', "utf-8"
    )
    version = ("--kube-version", kubernetes.KUBERNETES, "--show-only", "templates/notes.yaml")
    done = run(kubernetes.HELM, "template", "my", chart, *version, *arguments)
    assert done.returncode == 0, done.stderr
    return str(yaml.safe_load(done.stdout)["text"])


def test_the_notes_name_the_command_in_the_pod_and_the_token(tmp_path: Path) -> None:
    said = notes(tmp_path, "--values", EXAMPLES[0])
    assert "exec statefulset/my-reassignd -- reassignd status\n" in said
    assert "REASSIGND_TOKEN_FILE names the token of the Secret reassignd-token" in said


def test_the_notes_tell_that_nobody_takes_over_from_one_pod(tmp_path: Path) -> None:
    said = notes(tmp_path, "--values", EXAMPLES[0], *TOPIC, "--set", "state.replicas=1")
    assert "With state.replicas=1, no other pod takes over" in said


def test_the_strimzi_user_has_the_rights_of_an_instance() -> None:
    user = yaml.safe_load((STRIMZI / "user.yaml").read_text("utf-8"))
    acls = user["spec"]["authorization"]["acls"]
    granted = {
        (each["resource"]["type"], each["resource"].get("name", ""), operation)
        for each in acls
        for operation in each["operations"]
    }
    gateway = ("Alter", "Describe", "DescribeConfigs", "AlterConfigs")
    assert {("cluster", "", operation) for operation in gateway} <= granted
    assert {("topic", "*", operation) for operation in gateway[1:]} <= granted
    kinds = {TOPIC_RIGHT: "topic", TRANSACTIONAL_ID: "transactionalId"}
    camel = {right: right.operation.name.title().replace("_", "") for right in NEEDED}
    assert {(kinds[right.kind], "__reassignd_state", camel[right]) for right in NEEDED} <= granted
    [state] = [each for each in acls if each["resource"].get("patternType") == "prefix"]
    assert state["resource"] == {"type": "topic", "name": "__reassignd_state", "patternType": "prefix"}


def test_the_client_properties_for_strimzi_are_valid(tmp_path: Path) -> None:
    text = (STRIMZI / "client.properties").read_text("utf-8")
    file = tmp_path / "client.properties"
    file.write_text(text.replace("/secrets/upstream/ca.crt", str(TLS / "ca.pem")), "utf-8")
    file.chmod(0o600)
    assert command_config.load(file) != PLAINTEXT


def test_the_page_names_where_each_secret_is_mounted() -> None:
    page = (CHART.parents[2] / "docs" / "kubernetes.md").read_text("utf-8")
    mounted: set[str] = set()
    for name in ("topic", "strimzi-topic"):
        deployment = resources("--values", FOLDER / "examples" / f"{name}.yaml")["Deployment"]
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        mounted |= {each["mountPath"] for each in container["volumeMounts"]}
    secrets = {path for path in mounted if path.startswith("/secrets/")}
    assert len(secrets) == 6
    assert [path for path in secrets if f"`{path}`" not in page] == []


def test_helm_shows_the_readme() -> None:
    shown = run(kubernetes.HELM, "show", "readme", CHART)
    assert "image.repository" in shown.stdout


def test_the_chart_has_the_version_of_the_package_and_its_alerts() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert chart["version"] == chart["appVersion"] == __version__
    alerts = FOLDER.parent / "prometheus" / "reassignd-alerts.yml"
    assert (CHART / "files" / alerts.name).read_text("utf-8") == alerts.read_text("utf-8")
