"""ZooKeeper with SASL logins and ACLs; reassignd logs in as the brokers do, over TLS."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from backends.zookeeper.session.security import SENSITIVE, SaslLogin, ZookeeperSecurity
from tests.zookeeper.load import Load
from tests.zookeeper.secured_zookeeper import SECRET, SecuredZookeeper
from tests.zookeeper.site import Site, wait_for

ACL = {"zookeeper.set.acl": "true"}
NOTIFICATIONS = ("/isr_change_notification", "/log_dir_event_notification")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredZookeeper]:
    with SecuredZookeeper(tmp_path_factory.mktemp("guarded"), 2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def site(cluster: SecuredZookeeper) -> Iterator[Site]:
    with Site(cluster, **cluster.tls(), **cluster.login(), **ACL) as site:
        yield site


@pytest.fixture(scope="module")
def topic(site: Site) -> str:
    return site.create_topic([[1]], "foo")


def run_verb(tmp_path: Path, settings: Mapping[str, str], *verb: str) -> subprocess.CompletedProcess[str]:
    """Run a verb of the command line with a config file of these settings."""
    file = tmp_path / "reassignd.config.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    command = [sys.executable, "-m", "reassignd", *verb, "--config", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_data_moves(site: Site, topic: str) -> None:
    with Load(site.cluster.bootstrap, topic, 1) as load:
        site.reassign(topic, {0: [2]})
        site.wait_for_hosts(topic, 0, {2})
    load.check()
    site.wait_for_replicas(topic, [[2]])


def test_all_znodes_have_the_acls_of_brokers(site: Site, cluster: SecuredZookeeper, topic: str) -> None:
    site.set_configs("BROKER", "1", log__cleaner__threads="1")
    site.set_configs("TOPIC", topic, retention__ms="100000")
    acls_by_path = acls(cluster)
    assert {"/controller", "/brokers/ids/1", "/reassignd", f"/config/topics/{topic}"} <= set(acls_by_path)
    for path, rights in acls_by_path.items():
        readable = set() if path.startswith(SENSITIVE) else {("world:anyone", "READ")}
        assert rights - {("x509:CN=kafka", "ALL")} == {("sasl:kafka", "ALL"), *readable}, path


def acls(cluster: SecuredZookeeper) -> dict[str, set[tuple[str, str]]]:
    """Return the ACLs of each znode except /consumers, which Kafka leaves open."""
    client = KazooClient(
        cluster.zookeeper, **ZookeeperSecurity(login=SaslLogin("kafka", SECRET)).credentials()
    )
    client.start()
    try:
        return {path: rights(client, path) for path in descendants(client) if path != "/consumers"}
    finally:
        client.stop()
        client.close()


def descendants(client: KazooClient, path: str = "") -> Iterator[str]:
    """Return the paths below a znode, without notifications, which are deleted at any time."""
    for name in client.get_children(path or "/"):
        if path not in NOTIFICATIONS:
            yield f"{path}/{name}"
            yield from descendants(client, f"{path}/{name}")


def rights(client: KazooClient, path: str) -> set[tuple[str, str]]:
    return {(f"{acl.id.scheme}:{acl.id.id}", ",".join(acl.acl_list)) for acl in client.get_acls(path)[0]}


def test_a_plan_is_submitted_with_zk_submit(
    site: Site, cluster: SecuredZookeeper, topic: str, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(f'{{"version":1,"partitions":[{{"topic":"{topic}","partition":0,"replicas":[1]}}]}}')
    settings = cluster.tls() | cluster.login() | ACL
    result = run_verb(tmp_path, settings, "zk", "submit", "--reassignment-json-file", str(plan))
    assert (result.returncode, result.stderr) == (0, "")
    wait_for(lambda: site.has_znode("/admin/reassign_partitions"), False)
    site.wait_for_replicas(topic, [[1]])


@pytest.mark.parametrize(
    ("user", "password", "message"),
    [
        ("kafka", "wrong", "rejects the login; check the password"),
        ("ann", "ann-secret", "no permission to write /brokers/ids"),
    ],
)
def test_a_refused_login_or_a_missing_permission_is_reported_in_one_line(
    site: Site, cluster: SecuredZookeeper, tmp_path: Path, user: str, password: str, message: str
) -> None:
    settings = {"zookeeper.connect": cluster.zookeeper} | cluster.login(user, password)
    settings |= {"backend": "zookeeper", "listener": "127.0.0.1:0", "http.listener": "127.0.0.1:0"}
    result = run_verb(tmp_path, settings, "serve")
    assert result.returncode == 1
    # Log lines can precede it, e.g. a warning about a low limit of open files.
    (line,) = [line for line in result.stderr.splitlines() if not line.startswith("[")]
    assert line.startswith("reassignd: ")
    assert message in line


def test_a_broker_takes_over_and_then_reassignd_again(
    site: Site, cluster: SecuredZookeeper, topic: str
) -> None:
    """Each controller can change and delete the other's znodes."""
    created_by_reassignd = site.create_topic([[1]], "bar")
    assert site.commander.stop() == 0
    wait_for(lambda: (site.znode("/controller") or {}).get("brokerid") in cluster.brokers, True)
    site.wait_for_controller(site.znode("/controller")["brokerid"])
    site.reassign(topic, {0: [2]})
    site.wait_for_hosts(topic, 0, {2})
    site.set_configs("TOPIC", topic, retention__ms=None)
    site.admin.delete_topics([created_by_reassignd])
    wait_for(lambda: site.has_znode(f"/brokers/topics/{created_by_reassignd}"), False)
    created_by_broker = site.create_topic([[1]], "baz")
    site.commander.start()
    site.wait_for_controller(1000)
    site.reassign(created_by_broker, {0: [2]})
    site.wait_for_hosts(created_by_broker, 0, {2})
    site.admin.delete_topics([created_by_broker])
    wait_for(lambda: site.has_znode(f"/brokers/topics/{created_by_broker}"), False)
