import logging
import ssl
import subprocess
from pathlib import Path

import pytest

from backends.client.security import Credentials, Security
from common.tls import pem_blocks
from reassignd.config.command_config import load, relay_tls
from reassignd.config.errors import ConfigError

TLS = Path(__file__).parents[2] / "reassignd" / "tls"
PACKAGE = "org.apache.kafka.common.security"
PLAIN = f'sasl.jaas.config={PACKAGE}.plain.PlainLoginModule required username="alice" password="secret";'
SCRAM = f'sasl.jaas.config={PACKAGE}.scram.ScramLoginModule required username="alice" password="secret";'
TRUST = f"ssl.truststore.type=PEM\nssl.truststore.location={TLS / 'ca.pem'}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "client.properties"


def loaded(file: Path, *lines: str) -> Security:
    file.touch(0o600)
    file.write_text("\n".join(lines))
    return load(file)


def tls(file: Path, *lines: str) -> ssl.SSLContext:
    context = loaded(file, "security.protocol=SSL", *lines).tls
    assert context is not None
    return context


def refusal(file: Path, *lines: str) -> str:
    with pytest.raises(ConfigError) as refused:
        loaded(file, *lines)
    return str(refused.value)


def inline(pem: str) -> str:
    """A PEM text as a value of several lines."""
    return " \\\n    ".join(pem.strip().split("\n"))


def test_the_default_is_plaintext(file: Path) -> None:
    assert loaded(file, "") == Security(tls=None, sasl=None)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram(file: Path, mechanism: str) -> None:
    security = loaded(file, "security.protocol=SASL_PLAINTEXT", f"sasl.mechanism={mechanism}", SCRAM)
    assert security == Security(tls=None, sasl=Credentials(mechanism, "alice", "secret"))


def test_plain_over_tls(file: Path) -> None:
    security = loaded(file, "security.protocol=sasl_ssl", "sasl.mechanism=PLAIN", PLAIN)
    assert security.sasl == Credentials("PLAIN", "alice", "secret")
    assert security.tls is not None
    assert security.tls.verify_mode == ssl.CERT_REQUIRED


def test_an_unknown_protocol_is_refused(file: Path) -> None:
    text = refusal(file, "# comment", "security.protocol=TLS")
    assert text == f"{file}:2: security.protocol: expected one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"


@pytest.mark.parametrize("line", ["", "sasl.mechanism=OAUTHBEARER"])
def test_an_unsupported_mechanism_is_refused(file: Path, line: str) -> None:
    text = refusal(file, "security.protocol=SASL_SSL", line, SCRAM)
    assert text.endswith("is not one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512")


@pytest.mark.parametrize(
    ("jaas", "reason"),
    [
        ("", "with the semicolon"),
        (SCRAM[:-1], "with the semicolon"),
        (PLAIN, "SCRAM-SHA-256 needs ScramLoginModule, not PlainLoginModule"),
        (SCRAM.replace("username", "user"), 'expected username="..."'),
        (SCRAM.replace("password", "passwort"), 'expected password="..."'),
        (SCRAM.replace(";", ' tokenauth="true";'), "delegation tokens"),
    ],
)
def test_an_invalid_login_is_reported_without_its_secret(file: Path, jaas: str, reason: str) -> None:
    text = refusal(file, "security.protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA-256", jaas)
    assert text.startswith(f"{file}")
    assert "sasl.jaas.config: " in text
    assert reason in text
    assert "secret" not in text


def test_without_a_trust_store_the_systems_authorities_are_used(file: Path) -> None:
    systems = ssl.create_default_context().cert_store_stats()
    assert tls(file).cert_store_stats() == systems


def test_a_trust_store_replaces_the_systems_authorities(file: Path) -> None:
    assert tls(file, TRUST).cert_store_stats() == {"x509": 1, "crl": 0, "x509_ca": 1}


def test_inline_certificates_and_key(file: Path) -> None:
    ann = inline((TLS / "ann.pem").read_text())
    context = tls(
        file,
        "ssl.truststore.type=PEM",
        f"ssl.truststore.certificates={inline((TLS / 'ca.pem').read_text())}",
        "ssl.keystore.type=PEM",
        f"ssl.keystore.certificate.chain={ann}",
        f"ssl.keystore.key={ann}",
    )
    assert len(context.get_ca_certs()) == 1


def test_relayed_connections_use_the_trust_store_but_not_the_key_store(file: Path) -> None:
    file.write_text(f"security.protocol=SASL_PLAINTEXT\n{TRUST}\nssl.keystore.location=nowhere.jks\n")
    assert len(relay_tls(file).get_ca_certs()) == 1


def test_the_host_name_is_checked_unless_that_is_disabled(file: Path) -> None:
    algorithm = "ssl.endpoint.identification.algorithm="
    checks = [tls(file, line).check_hostname for line in ("", f"{algorithm}HTTPS", algorithm)]
    assert checks == [True, True, False]
    assert "expected https, or nothing" in refusal(file, "security.protocol=SSL", f"{algorithm}LDAPS")


@pytest.mark.parametrize(("password", "opens"), [("opens-it", True), ("does-not", False), ("", False)])
def test_a_key_may_have_a_password(file: Path, tmp_path: Path, password: str, opens: bool) -> None:
    key = tmp_path / "key.pem"
    encrypt = ["openssl", "pkcs8", "-topk8", "-in", str(TLS / "ann.pem"), "-passout", "pass:opens-it"]
    encrypted = subprocess.run(encrypt, check=True, capture_output=True, text=True).stdout
    key.write_text(encrypted + pem_blocks((TLS / "ann.pem").read_text(), "CERTIFICATE"))
    lines = ["ssl.keystore.type=PEM", f"ssl.keystore.location={key}", f"ssl.key.password={password}"]
    if opens:
        tls(file, *lines)
    else:
        assert "is ssl.key.password right?" in refusal(file, "security.protocol=SSL", *lines)


@pytest.mark.parametrize("kind", ["", "JKS", "PKCS12"])
@pytest.mark.parametrize(
    ("store", "command"),
    [
        ("ssl.truststore", "keytool -list -rfc -keystore my.jks > truststore.pem"),
        ("ssl.keystore", "keytool -importkeystore -srckeystore my.jks"),
    ],
)
def test_a_java_store_is_refused_with_the_command_that_converts_it(
    file: Path, store: str, command: str, kind: str
) -> None:
    lines = [f"{store}.location=my.jks", f"{store}.password=x", *([f"{store}.type={kind}"] if kind else [])]
    text = refusal(file, "security.protocol=SSL", *lines)
    assert f"{kind or 'JKS'} is not read here" in text
    assert command in text
    assert f"set {store}.type=PEM" in text


def test_a_missing_store_is_refused(file: Path) -> None:
    lines = ["ssl.truststore.type=PEM", "ssl.truststore.location=no/such.pem"]
    text = refusal(file, "security.protocol=SSL", *lines)
    assert text == f"{file}:3: ssl.truststore.location: cannot read no/such.pem: No such file or directory"


def test_a_binary_store_is_refused(file: Path, tmp_path: Path) -> None:
    (tmp_path / "store").write_bytes(b"\xfe\xed\xfe\xed")
    lines = ["ssl.truststore.type=PEM", f"ssl.truststore.location={tmp_path / 'store'}"]
    assert "it is no text: is it PEM?" in refusal(file, "security.protocol=SSL", *lines)


def test_a_store_without_a_certificate_is_refused(file: Path) -> None:
    lines = ["ssl.truststore.type=PEM", f"ssl.truststore.location={TLS / 'README.md'}"]
    assert "no PEM certificate" in refusal(file, "security.protocol=SSL", *lines)


def test_other_properties_are_logged_and_ignored(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    loaded(file, "client.id=tool", "request.timeout.ms=1000", "ssl.truststore.password=x")
    assert [record.getMessage() for record in caplog.records] == [
        f"{file}:1: client.id is not used for these connections",
        f"{file}:2: request.timeout.ms is not used for these connections",
    ]


def test_a_java_class_is_refused(file: Path) -> None:
    text = refusal(file, "sasl.login.callback.handler.class=com.example.Handler")
    assert text.startswith(f"{file}:1: sasl.login.callback.handler.class names a Java class")


def test_a_missing_file_is_refused(file: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*client\.properties: No such file"):
        load(file)
