import ssl
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from backends.zookeeper.session.security import NO_SECURITY, SaslLogin, ZookeeperSecurity
from common.tls import pem_blocks
from common.wording import missing
from reassignd.config.errors import ConfigError
from reassignd.config.sources import Assignment, resolve
from reassignd.config.zookeeper_security import security

TLS = Path(__file__).parents[2] / "reassignd" / "tls"
MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"
JAAS = f'Client {{ {MODULE} required username="ann" password="a-secret"; }};'
ENABLED = {"zookeeper.ssl.client.enable": "true"}


def security_of(values: Mapping[str, object]) -> ZookeeperSecurity:
    return security(resolve(Assignment(key, str(value), "here") for key, value in values.items()))


def tls(values: Mapping[str, object]) -> ssl.SSLContext:
    context = security_of({**ENABLED, **values}).tls
    assert context is not None
    return context


def refusal(values: Mapping[str, object]) -> str:
    with pytest.raises(ConfigError) as refused:
        security_of(values)
    text = str(refused.value)
    assert "secret" not in text
    return text


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


def test_the_default_is_plain_text_without_a_login() -> None:
    assert security_of({}) == NO_SECURITY


def test_a_login_of_the_brokers(file: Path) -> None:
    file.write_text(f"// Brokers have it too.\nServer {{ a.B required; }};\n{JAAS}")
    found = security_of({"zookeeper.jaas.file": file, "zookeeper.set.acl": "true"})
    assert found == ZookeeperSecurity(login=SaslLogin("ann", "a-secret"), set_acl=True)


def test_a_login_without_the_package_for_it_names_the_extra(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(JAAS)
    monkeypatch.setitem(sys.modules, "puresasl", None)
    text = refusal({"zookeeper.jaas.file": file})
    assert text == missing("zookeeper.jaas.file", "a further package", "zookeeper-sasl")


@pytest.mark.parametrize(
    ("jaas", "reason"),
    [
        ("", "there is no section Client { ... };"),
        (JAAS.replace("Client", "Server"), "there is no section Client { ... };"),
        (JAAS.replace(";", ""), "with the semicolon"),
        (JAAS.replace("Digest", "Krb5"), "not Krb5LoginModule"),
        (JAAS.replace("username", "user"), 'expected username="..." in the section Client'),
        (JAAS.replace("a-secret", ""), 'expected password="..." in the section Client'),
    ],
)
def test_an_invalid_login_is_refused(file: Path, jaas: str, reason: str) -> None:
    file.write_text(jaas)
    text = refusal({"zookeeper.jaas.file": file})
    assert text.startswith(f"zookeeper.jaas.file: {file}: ")
    assert reason in text


def test_a_missing_file_is_refused() -> None:
    text = refusal({"zookeeper.jaas.file": "no/such"})
    assert text == "zookeeper.jaas.file: cannot read no/such: No such file or directory"


def test_the_scheme_digest(file: Path) -> None:
    file.write_text("super:s-secret\n")
    assert security_of({"zookeeper.digest.file": file}) == ZookeeperSecurity(digest="super:s-secret")


@pytest.mark.parametrize("text", ["", "\n", "super", "super:", ":s-secret", "super:s-secret\nann:a-secret"])
def test_an_invalid_digest_is_refused(file: Path, text: str) -> None:
    file.write_text(text)
    assert refusal({"zookeeper.digest.file": file}).startswith(f"zookeeper.digest.file: {file}: expected")


def test_acls_need_a_login_that_brokers_have(file: Path) -> None:
    file.write_text("super:s-secret")
    text = refusal({"zookeeper.set.acl": "true", "zookeeper.digest.file": file})
    assert "set zookeeper.jaas.file, or zookeeper.tls.certificate.file" in text


def test_without_authorities_those_of_the_system_are_used() -> None:
    assert tls({}).cert_store_stats() == ssl.create_default_context().cert_store_stats()


def test_authorities_replace_those_of_the_system() -> None:
    context = tls({"zookeeper.tls.ca.file": TLS / "ca.pem"})
    assert context.cert_store_stats() == {"x509": 1, "crl": 0, "x509_ca": 1}
    assert context.verify_mode == ssl.CERT_REQUIRED


def test_the_host_name_is_checked_unless_that_is_disabled() -> None:
    key = "zookeeper.ssl.endpoint.identification.algorithm"
    assert [tls(each).check_hostname for each in ({}, {key: "HTTPS"}, {key: ""})] == [True, True, False]


def test_a_client_certificate_is_a_login() -> None:
    security_of(ENABLED | {"zookeeper.set.acl": "true", "zookeeper.tls.certificate.file": TLS / "ann.pem"})


@pytest.mark.parametrize(("password", "opens"), [("opens-it", True), ("does-not", False), (None, False)])
def test_a_key_in_a_file_of_its_own_with_a_password(
    file: Path, tmp_path: Path, password: str | None, opens: bool
) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    certificate.write_text(pem_blocks((TLS / "ann.pem").read_text(), "CERTIFICATE"))
    encrypt = ["openssl", "pkcs8", "-topk8", "-in", str(TLS / "ann.pem"), "-passout", "pass:opens-it"]
    key.write_bytes(subprocess.run(encrypt, check=True, capture_output=True).stdout)
    values: dict[str, object] = {"zookeeper.tls.certificate.file": certificate, "zookeeper.tls.key.file": key}
    if password is not None:
        file.write_text(f"{password}\n")
        values["zookeeper.tls.key.password.file"] = file
    if opens:
        tls(values)
    else:
        assert "is zookeeper.tls.key.password.file right?" in refusal(ENABLED | values)


@pytest.mark.parametrize("name", ["ca", "certificate"])
def test_an_invalid_certificate_is_refused(file: Path, name: str) -> None:
    file.write_text("no PEM")
    text = refusal(ENABLED | {f"zookeeper.tls.{name}.file": file})
    assert text.startswith(f"zookeeper.tls.{name}.file: {file}: ")
    assert "there is no PEM certificate in it" in text


@pytest.mark.parametrize("name", ["ca", "certificate", "key", "key.password"])
def test_files_need_tls(name: str) -> None:
    text = refusal({f"zookeeper.tls.{name}.file": TLS / "ann.pem"})
    assert text == f"zookeeper.tls.{name}.file is set without zookeeper.ssl.client.enable=true"


@pytest.mark.parametrize("name", ["key", "key.password"])
def test_a_key_needs_a_certificate(name: str) -> None:
    text = refusal(ENABLED | {f"zookeeper.tls.{name}.file": TLS / "ann.pem"})
    assert text == f"zookeeper.tls.{name}.file is set without zookeeper.tls.certificate.file"
