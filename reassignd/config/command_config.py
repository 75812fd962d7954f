"""Client properties files, as `--command-config` of Kafka's tools takes them: how to connect to brokers."""

import logging
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from backends.client.security import SASL_MECHANISMS, Credentials, Security
from common.tls import client_context, load_identity
from reassignd.config import jaas
from reassignd.config.errors import ConfigError
from reassignd.config.secret_files import warn_if_open
from reassignd.config.setting_types import SECURITY_PROTOCOLS
from reassignd.config.sources import Assignment, read_file

log = logging.getLogger(__name__)

LOGIN_MODULES = {"PLAIN": "PlainLoginModule"} | dict.fromkeys(SASL_MECHANISMS[1:], "ScramLoginModule")

KEYS = frozenset(
    {
        "security.protocol",
        "sasl.mechanism",
        "sasl.jaas.config",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.type",
    }
)
"""Keys that have an effect here; others are logged and ignored."""

STORE_PASSWORDS = {"ssl.keystore.password", "ssl.truststore.password"}
"""Passwords of Java stores, ignored: `ClientProperties._pem` refuses those stores and says how to convert
them."""

SECRETS = {"sasl.jaas.config", "ssl.key.password", "ssl.keystore.key", *STORE_PASSWORDS}

JAVA_CLASSES = {
    "sasl.client.callback.handler.class",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "ssl.engine.factory.class",
}
"""Keys that name Java classes. They are refused, because the connection would not be the configured one
without them."""

CONVERT_TRUST = "keytool -list -rfc -keystore {path} > truststore.pem"
CONVERT_KEY = (
    "keytool -importkeystore -srckeystore {path} -destkeystore keystore.p12 -deststoretype PKCS12"
    " && openssl pkcs12 -in keystore.p12 -out keystore.pem"
)


def load(path: Path) -> Security:
    """Return the security settings in the file.

    Raises ConfigError, with file and line, for one that cannot be used.
    """
    return ClientProperties(path).security()


def relay_tls(path: Path) -> ssl.SSLContext:
    """Return the TLS context for relayed connections of clients.

    It has the file's trust store, but not its certificate.

    A client must not act at the brokers with the certificate of reassignd. Raises ConfigError.
    """
    return ClientProperties(path).tls(identity=False)


class ClientProperties:
    """The assignments of a client properties file. The last line counts for a key that occurs twice."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._given: dict[str, Assignment] = {}
        assignments = list(read_file(path))
        if any(assignment.key in SECRETS for assignment in assignments):
            warn_if_open(path, "the passwords or keys")
        for assignment in assignments:
            key, source = assignment.key, assignment.source
            if key in JAVA_CLASSES:
                raise ConfigError(f"{source}: {key} names a Java class, which cannot be used here")
            if key in KEYS:
                self._given[key] = assignment
            elif key not in STORE_PASSWORDS:
                log.info("%s: %s is not used for these connections", source, key)

    def security(self) -> Security:
        """Return TLS and login together. Raises ConfigError."""
        protocol = self._value("security.protocol", "PLAINTEXT").upper()
        if protocol not in SECURITY_PROTOCOLS:
            raise self._error("security.protocol", f"expected one of {', '.join(SECURITY_PROTOCOLS)}")
        return Security(
            tls=self.tls() if protocol.endswith("SSL") else None,
            sasl=self._credentials() if protocol.startswith("SASL_") else None,
        )

    def _credentials(self) -> Credentials:
        mechanism = self._value("sasl.mechanism", "GSSAPI")
        if mechanism not in LOGIN_MODULES:
            raise self._error("sasl.mechanism", f"{mechanism} is not one of {', '.join(LOGIN_MODULES)}")
        try:
            login = jaas.parse(self._value("sasl.jaas.config"))
        except ValueError as error:
            raise self._error("sasl.jaas.config", str(error)) from error
        if login.module != LOGIN_MODULES[mechanism]:
            raise self._error(
                "sasl.jaas.config", f"{mechanism} needs {LOGIN_MODULES[mechanism]}, not {login.module}"
            )
        if login.options.get("tokenauth", "").lower() == "true":
            raise self._error("sasl.jaas.config", "delegation tokens (tokenauth) cannot be used here")
        for name in ("username", "password"):
            if name not in login.options:
                raise self._error("sasl.jaas.config", f'expected {name}="..."')
        return Credentials(mechanism, login.options["username"], login.options["password"])

    def tls(self, *, identity: bool = True) -> ssl.SSLContext:
        """Return the TLS context, with the certificate of the key store if `identity`. Raises ConfigError."""
        algorithm = self._value("ssl.endpoint.identification.algorithm", "https").lower()
        if algorithm not in ("", "https"):
            raise self._error("ssl.endpoint.identification.algorithm", "expected https, or nothing")
        key, authorities = self._pem("ssl.truststore", ("certificates",), CONVERT_TRUST)
        with self._openssl_errors(key):
            context = client_context(authorities, check_hostname=algorithm == "https")
        if identity:
            self._load_identity(context)
        return context

    def _load_identity(self, context: ssl.SSLContext) -> None:
        key, pem = self._pem("ssl.keystore", ("key", "certificate.chain"), CONVERT_KEY)
        if pem is None:
            return
        if key == "ssl.keystore.location":
            warn_if_open(Path(self._value(key)), "the private key")
        with self._openssl_errors(key, hint="; is ssl.key.password right?"):
            load_identity(context, pem, self._value("ssl.key.password"))

    def _pem(self, name: str, parts: tuple[str, ...], convert: str) -> tuple[str, str | None]:
        """Return the key that configures a store, and its PEM text.

        The result is None when neither a file nor `parts` are set.

        `convert` is the command that converts a Java store, for the error message.
        """
        location, inline = f"{name}.location", [f"{name}.{part}" for part in parts]
        if location not in self._given and not any(key in self._given for key in inline):
            return location, None
        kind = self._value(f"{name}.type", "JKS").upper()
        if kind != "PEM":
            path = self._value(location, f"{name}.jks")
            command = convert.format(path=path)
            text = f"{kind} is not read here; convert it ({command}) and set {name}.type=PEM"
            raise self._error(f"{name}.type" if f"{name}.type" in self._given else location, text)
        if location not in self._given:
            return inline[0], "\n".join(map(self._value, inline))
        path = self._value(location)
        try:
            return location, Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text: is it PEM?"
            raise self._error(location, f"cannot read {path}: {reason}") from error

    @contextmanager
    def _openssl_errors(self, key: str, hint: str = "") -> Iterator[None]:
        """Raise ConfigError, naming the key, for PEM text that cannot be used."""
        try:
            yield
        except ssl.SSLError as error:
            raise self._error(key, f"OpenSSL cannot use it ({error}){hint}") from error
        except ValueError as error:
            raise self._error(key, str(error)) from error

    def _value(self, key: str, default: str = "") -> str:
        return self._given[key].value.strip() if key in self._given else default

    def _error(self, key: str, text: str) -> ConfigError:
        """Name the key, its file and line, and the fault. Values are left out: they may be secret."""
        source = self._given[key].source if key in self._given else str(self._path)
        return ConfigError(f"{source}: {key}: {text}")
