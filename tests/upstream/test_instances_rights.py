"""Rights that an instance lacks.

Each is named in one line of its log, also when it is removed at run time.
"""

import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

from tests.upstream.instances import Instance, new_topic
from tools.kafka_cluster import KafkaCluster, admin_client

USER = "alter"
"""It has the rights of a gateway on the cluster, but none on the topics of the instance."""

SECONDS = 60
"""Limit for a line, and for a term."""


class Right(NamedTuple):
    """A right on the state topic, the audit topic, or the transactional id.

    Its kind, and the end of its name.
    """

    kind: ResourceType
    end: str
    operation: ACLOperation


TOPIC, TRANSACTIONAL_ID, AUDIT = ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID, "_audit"
READ, WRITE, CREATE = ACLOperation.READ, ACLOperation.WRITE, ACLOperation.CREATE
CLAIM = Right(TRANSACTIONAL_ID, "", WRITE)
NEEDED = {
    *(Right(TOPIC, "", each) for each in (READ, WRITE, CREATE, ACLOperation.DESCRIBE_CONFIGS)),
    *(Right(TOPIC, AUDIT, each) for each in (READ, WRITE, CREATE)),
    CLAIM,
}
"""READ and WRITE include DESCRIBE."""


class Site:
    """An instance whose user has some rights."""

    def __init__(self, kafka: KafkaCluster, folder: Path) -> None:
        self._kafka, self.topic = kafka, new_topic()
        settings = {
            "upstream_command_config": str(kafka.client_config("SASL_PLAINTEXT", USER)),
            "state_topic_replication_factor": "2",
        }
        upstream = kafka.addresses("SASL_PLAINTEXT")
        self.instance = Instance(kafka, folder, "only", self.topic, upstream, None, **settings)

    def grant(self, *rights: Right) -> None:
        """Give the user these rights."""
        with admin_client(self._kafka.bootstrap) as admin:
            admin.create_acls([self._acl(right) for right in rights])

    def revoke(self, *rights: Right) -> None:
        """Take these rights away."""
        with admin_client(self._kafka.bootstrap) as admin:
            admin.delete_acls([self._acl(right) for right in rights])

    def decide(self) -> None:
        """Change something, which gives an entry of the audit log."""
        for path in ("pause", "resume"):
            request = urllib.request.Request(f"http://{self.instance.http}/v1/{path}", method="POST")
            with urllib.request.urlopen(request, timeout=30):
                pass

    def wait_for_line(self, line: str, since: int = 0, meanwhile: Callable[[], object] = bool) -> None:
        """Wait until the part of the log after `since` has the line, once.

        Call `meanwhile` again and again.
        """
        deadline = time.monotonic() + SECONDS
        while (found := self.instance.log[since:].count(line)) != 1:
            assert not found, f"repeated: {line}"
            assert time.monotonic() < deadline, self.instance.log[since:]
            meanwhile()
            time.sleep(0.1)

    def wait_active(self) -> None:
        """Wait until the instance is active."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            try:
                if "role: active" in self.instance.text("/readyz"):
                    return
            except urllib.error.HTTPError:
                pass
            time.sleep(0.1)
        pytest.fail(self.instance.log)

    def _acl(self, right: Right) -> ACL:
        pattern = ResourcePattern(right.kind, self.topic + right.end)
        return ACL(f"User:{USER}", "*", right.operation, ACLPermissionType.ALLOW, pattern)


@pytest.fixture(scope="module")
def site(secured: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """An instance with all rights but CREATE of the audit topic."""
    site = Site(secured, tmp_path_factory.mktemp("rights"))
    site.grant(*NEEDED - {Right(TOPIC, AUDIT, CREATE)})
    site.instance.start()
    yield site
    site.instance.stop()
    site.revoke(*NEEDED)


def test_the_audit_topic_that_cannot_be_created_is_named(site: Site) -> None:
    site.wait_for_line(
        f"CreateTopics of the state topic {site.topic}_audit is refused: grant CREATE on the topic to the"
        " user of reassignd; entries of the audit log stay in the state topic until then"
    )
    site.wait_active()
    site.grant(Right(TOPIC, AUDIT, CREATE))


@pytest.mark.parametrize(
    ("right", "request_"),
    [
        (Right(TOPIC, AUDIT, READ), "Fetch"),
        (Right(TOPIC, AUDIT, WRITE), "Produce"),
        (Right(TOPIC, "", READ), "Fetch"),
        (Right(TOPIC, "", WRITE), "Produce"),
    ],
    ids=["audit READ", "audit WRITE", "READ", "WRITE"],
)
def test_a_right_that_is_removed_at_run_time_is_named(site: Site, right: Right, request_: str) -> None:
    site.wait_active()
    site.decide()
    since = len(site.instance.log)
    site.revoke(right)
    refused = f"{request_} on the state topic {site.topic}{right.end}: TOPIC_AUTHORIZATION_FAILED"
    # Brokers do not know at once that the right is gone: what is written until then is not refused.
    written = right == Right(TOPIC, AUDIT, WRITE)
    site.wait_for_line(
        f"{refused}; grant {right.operation.name} on the topic to the user of reassignd",
        since,
        site.decide if written else bool,
    )
    site.grant(right)
    site.wait_active()


def test_the_right_to_claim_a_term_is_named_when_it_is_needed(site: Site) -> None:
    site.wait_active()
    site.revoke(CLAIM)
    site.instance.kill()
    since = len(site.instance.log)
    site.instance.launch()
    line = f"grant WRITE and DESCRIBE on the transactional id {site.topic} to the user of reassignd"
    site.wait_for_line(line, since)
    site.grant(CLAIM)
    site.wait_active()
