"""The embedded cluster answers requests for ACLs and SCRAM users as Kafka 4.3 does.

Codes, messages and rows.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from protocol.apis import ApiKey
from protocol.codec.schema import Request
from protocol.codec.wire import schema_of
from protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from protocol.messages.describe_user_scram_credentials_request import DescribeUserScramCredentialsRequest
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from tests.clients.secured.servers import AUTHORIZER
from tests.upstream.access_requests import (
    CHANGES,
    KNOWN_USER,
    OTHER_USER,
    PRESENT,
    READS,
    AnyRequest,
    altered,
    described,
    upserted,
)
from tests.upstream.conftest import bootstrap
from tools.kafka_cluster import KafkaCluster
from tools.kafka_settings import PRINCIPALS
from tools.processes import Reassignd
from tools.raw_connection import RawConnection
from tools.waiting import wait_until

VERSIONS = {
    ApiKey.DESCRIBE_ACLS: 3,
    ApiKey.CREATE_ACLS: 3,
    ApiKey.DELETE_ACLS: 3,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: 0,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: 0,
}
CLOSED = "closed"
ALL_ACLS, ALL_USERS = described(), DescribeUserScramCredentialsRequest(None)


class Server(NamedTuple):
    """A server with the users PRINCIPALS."""

    bootstrap: str

    def ask(self, request: AnyRequest, user: str = "admin") -> Any:
        """Log in, and return the response with the rows in one order; CLOSED if the connection ends."""
        connection = RawConnection(self.bootstrap)
        try:
            connection.ask(SaslHandshakeRequest("PLAIN"), 1)
            connection.ask(SaslAuthenticateRequest(f"\0{user}\0{user}-secret".encode()), 2)
            return in_order(connection.ask(request, VERSIONS[ApiKey(schema_of(type(request)).api_key or 0)]))
        except ConnectionError:
            return CLOSED
        finally:
            connection.close()


def in_order(value: Any) -> Any:
    """Sort all arrays of a response, whose order Kafka leaves open."""
    if type(value) in (list, tuple):
        return sorted((in_order(each) for each in value), key=repr)
    return type(value)(*map(in_order, value)) if isinstance(value, tuple) else value


class Pair(NamedTuple):
    """Two servers with the same ACLs and users."""

    embedded: Server
    kafka: Server

    def answers(self, request: AnyRequest, user: str = "admin") -> tuple[Any, Any]:
        """Return the responses of both."""
        return self.embedded.ask(request, user), self.kafka.ask(request, user)

    def wait_until_equal(self) -> None:
        """Wait until both have the same ACLs and users: Kafka's brokers follow the controller."""

        def state() -> list[tuple[Any, Any]]:
            return [self.answers(ALL_ACLS), self.answers(ALL_USERS)]

        wait_until(
            lambda: all(one == other for one, other in state()), lambda: f"equal states: {state()}", 0.1
        )


@pytest.fixture(scope="module")
def pair(secured: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Both servers have what `secured` has, PRESENT, and two users for the requests."""
    folder = tmp_path_factory.mktemp("access")
    (folder / "users").write_text("".join(f"{name} {name}-secret\n" for name in PRINCIPALS))
    (folder / "users").chmod(0o600)
    overrides = {
        "listener.security.protocol": "SASL_PLAINTEXT",
        "sasl.users.file": str(folder / "users"),
        "authorizer.class.name": AUTHORIZER,
        "super.users": "User:admin",
    }
    embedded = Reassignd(folder / "data", overrides, 1)
    embedded.start()
    pair = Pair(Server(embedded.bootstrap), Server(str(bootstrap(secured, "SASL_PLAINTEXT"))))
    before = acls(pair.kafka)
    copy_state(pair)
    yield pair
    assert embedded.stop() == 0
    added = [acl for acl in acls(pair.kafka) if acl not in before]
    pair.kafka.ask(DeleteAclsRequest([DeleteAclsFilter(*acl) for acl in added]))


def acls(server: Server) -> list[AclCreation]:
    """Return all ACLs of the server."""
    return [
        AclCreation(*resource[:3], *acl)
        for resource in server.ask(ALL_ACLS).resources
        for acl in resource.acls
    ]


def copy_state(pair: Pair) -> None:
    """Give the embedded cluster Kafka's ACLs and users, and both what the requests expect."""
    pair.embedded.ask(CreateAclsRequest(acls(pair.kafka)))
    for user in pair.kafka.ask(ALL_USERS).results:
        for mechanism, iterations in user.credential_infos:
            pair.embedded.ask(altered(upserted(user.user, mechanism, iterations)))
    pair.answers(CreateAclsRequest(PRESENT))
    pair.answers(altered(upserted(KNOWN_USER), upserted(OTHER_USER)))
    pair.wait_until_equal()


@pytest.mark.parametrize("name", READS)
def test_acls_and_users_are_listed_as_by_kafka(pair: Pair, name: str) -> None:
    embedded, kafka = pair.answers(READS[name])
    assert embedded == kafka


@pytest.mark.parametrize("name", CHANGES)
def test_acls_and_users_are_changed_as_by_kafka(pair: Pair, name: str) -> None:
    embedded, kafka = pair.answers(CHANGES[name])
    assert embedded == kafka
    pair.wait_until_equal()


DENIED: dict[str, Request[NamedTuple]] = {
    name: (READS | CHANGES)[name]
    for name in ("all ACLs", "a user", "an ACL twice", "a deletion by two filters", "a new user")
}
"""Without "all users": Kafka 4.3 never answers that request if it is denied."""


@pytest.mark.parametrize("name", DENIED)
@pytest.mark.parametrize("user", ["alter", "describe", "nothing"])
def test_rights_are_those_of_kafka(pair: Pair, user: str, name: str) -> None:
    embedded, kafka = pair.answers(DENIED[name], user)
    assert codes(embedded) == codes(kafka)


def codes(response: Any) -> Any:
    """Return the response without messages: Kafka's denials contain the internal request."""
    if isinstance(response, list):
        return [codes(each) for each in response]
    if isinstance(response, tuple):
        fields = response._asdict()  # type: ignore[attr-defined]
        return {field: codes(value) for field, value in fields.items() if field != "error_message"}
    return response
