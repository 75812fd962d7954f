"""The gate of a listener: principals of certificates, rights by address, and who must log in."""

import pytest

from controller.model.access import Operation
from controller.state.access import AclIndex
from server.dispatch.authorizer import ANONYMOUS, CLUSTER, AllowAll, topic
from server.dispatch.router import Caller
from server.security.acl_authorizer import AclAuthorizer
from server.security.gate import OPEN, TRUSTED, Gate, java_address
from server.security.login import LoginRules
from server.security.principals import NoMatchingRuleError, parse_rules
from tests.controller.acls import acl
from tests.server.fakes import FakeBroker
from tests.server.security.certificates import certificate, transport

CERTIFICATE = certificate("O=ops", "CN=ann")
CALLER = Caller(FakeBroker(), ANONYMOUS, "10.0.0.1:4711")
LOGIN = LoginRules({}, lambda: 0)


def test_an_open_gate_lets_everyone_in_without_a_name() -> None:
    assert OPEN.identified(CALLER, transport()) == CALLER
    assert OPEN.new_login() is None


def test_a_certificate_names_the_principal_by_the_rules() -> None:
    by_default, by_rule = Gate(mapping=parse_rules("")), Gate(mapping=parse_rules("RULE:CN=(.*),O=ops/$1/U"))
    assert by_default.identified(CALLER, transport(CERTIFICATE)).principal == "User:CN=ann,O=ops"
    assert by_rule.identified(CALLER, transport(CERTIFICATE)).principal == "User:ANN"
    assert by_rule.identified(CALLER, transport()).principal == ANONYMOUS
    with pytest.raises(NoMatchingRuleError):
        Gate(mapping=parse_rules("RULE:CN=bob/b/")).identified(CALLER, transport(CERTIFICATE))


def test_with_sasl_the_login_names_the_principal() -> None:
    gate = Gate(mapping=parse_rules(""), login=LOGIN)
    assert gate.identified(CALLER, transport(CERTIFICATE)).principal == ANONYMOUS
    assert gate.new_login() is not None


def test_the_rights_are_those_of_the_client_s_address() -> None:
    acls = AclIndex()
    acls.add(acl("orders", "User:*", host="10.0.0.1"))
    gate = Gate(AclAuthorizer(acls))
    rights = gate.identified(CALLER, transport()).rights
    elsewhere = gate.identified(CALLER._replace(peer="10.0.0.2:1"), transport()).rights
    assert rights is not None
    assert elsewhere is not None
    assert rights.allows("User:x", Operation.READ, topic("orders"))
    assert not elsewhere.allows("User:x", Operation.READ, topic("orders"))


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:db8::a00:1", "2001:db8:0:0:0:0:a00:1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("10.0.0.1", "10.0.0.1"),
        ("unknown", "unknown"),
    ],
)
def test_hosts_have_the_form_of_java(host: str, shown: str) -> None:
    assert java_address(host) == shown


def test_an_acl_for_an_ipv6_address_has_an_effect() -> None:
    acls = AclIndex()
    acls.add(acl("orders", "User:*", host="0:0:0:0:0:0:0:1"))
    rights = Gate(AclAuthorizer(acls)).identified(CALLER._replace(peer="::1:4711"), transport()).rights
    assert rights is not None
    assert rights.allows("User:x", Operation.READ, topic("orders"))


def test_connections_of_this_process_may_do_everything() -> None:
    rights = TRUSTED.identified(CALLER, transport()).rights
    assert isinstance(rights, AllowAll)
    assert rights.allows(ANONYMOUS, Operation.CLUSTER_ACTION, CLUSTER)
    assert Gate(login=LOGIN, trusted=True).new_login() is None
