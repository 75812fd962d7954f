"""How to connect to brokers, in the properties that Kafka's own tools read."""

import logging
import ssl
from collections.abc import Callable
from pathlib import Path

from backends.client.security import SASL_MECHANISMS, Credentials, Security
from reassignd.config import jaas, tls_files
from reassignd.config.config import Assignment, read_file
from reassignd.config.secret_files import warn_if_open
from reassignd.config.setting_types import SECURITY_PROTOCOLS
from reassignd.errors import ConfigError

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
"""What is understood."""

STORE_PASSWORDS = {"ssl.keystore.password", "ssl.truststore.password"}
"""Of no use to PEM; the message about the type of the store says what there is to say."""

SECRETS = {"sasl.jaas.config", "ssl.key.password", "ssl.keystore.key", *STORE_PASSWORDS}

JAVA_CLASSES = {
    "sasl.client.callback.handler.class",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "ssl.engine.factory.class",
}
"""Java classes that make the connection what it is: it would not be the same without them."""

CONVERT_TRUST = "keytool -list -rfc -keystore {path} > truststore.pem"
CONVERT_KEY = (
    "keytool -importkeystore -srckeystore {path} -destkeystore keystore.p12 -deststoretype PKCS12"
    " && openssl pkcs12 -in keystore.p12 -out keystore.pem"
)


def load(path: Path) -> Security:
    """How the file says to connect. Raises ConfigError, naming file and line, for what cannot be used."""
    return ClientProperties(path).security()


def trust(path: Path) -> ssl.SSLContext:
    """TLS by which others' connections go on: whom the file trusts, without a certificate of ours. Raises ConfigError."""
    return ClientProperties(path).tls(own=False)


class ClientProperties:
    """The file, of which the later line counts where a key comes twice."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._given: dict[str, Assignment] = {}
        found = list(read_file(path))
        if any(each.key in SECRETS for each in found):
            warn_if_open(path, "the passwords or keys")
        for each in found:
            if each.key in JAVA_CLASSES:
                raise ConfigError(f"{each.source}: {each.key} names a Java class, which cannot be used here")
            if each.key in KEYS:
                self._given[each.key] = each
            elif each.key not in STORE_PASSWORDS:
                log.info("%s: %s is not used for these connections", each.source, each.key)

    def security(self) -> Security:
        """All of it. Raises ConfigError."""
        protocol = self._value("security.protocol", "PLAINTEXT").upper()
        if protocol not in SECURITY_PROTOCOLS:
            raise self._wrong("security.protocol", f"expected one of {', '.join(SECURITY_PROTOCOLS)}")
        return Security(
            tls=self.tls() if protocol.endswith("SSL") else None,
            sasl=self._credentials() if protocol.startswith("SASL_") else None,
        )

    def _credentials(self) -> Credentials:
        mechanism = self._value("sasl.mechanism", "GSSAPI")
        if mechanism not in LOGIN_MODULES:
            raise self._wrong("sasl.mechanism", f"{mechanism} is not one of {', '.join(LOGIN_MODULES)}")
        try:
            login = jaas.parse(self._value("sasl.jaas.config"))
        except ValueError as error:
            raise self._wrong("sasl.jaas.config", str(error)) from error
        if login.module != LOGIN_MODULES[mechanism]:
            raise self._wrong(
                "sasl.jaas.config", f"{mechanism} needs {LOGIN_MODULES[mechanism]}, not {login.module}"
            )
        if login.options.get("tokenauth", "").lower() == "true":
            raise self._wrong("sasl.jaas.config", "delegation tokens (tokenauth) cannot be used here")
        for name in ("username", "password"):
            if name not in login.options:
                raise self._wrong("sasl.jaas.config", f'expected {name}="..."')
        return Credentials(mechanism, login.options["username"], login.options["password"])

    def tls(self, *, own: bool = True) -> ssl.SSLContext:
        """With a certificate of our `own`, if there is one. Raises ConfigError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        algorithm = self._value("ssl.endpoint.identification.algorithm", "https").lower()
        if algorithm not in ("", "https"):
            raise self._wrong("ssl.endpoint.identification.algorithm", "expected https, or nothing")
        context.check_hostname = algorithm == "https"
        authorities = self._store("ssl.truststore", ("certificates",), CONVERT_TRUST)
        if authorities is None:
            context.load_default_certs()
        else:
            self._use(*authorities, lambda text: tls_files.trust(context, text))
        shown = self._store("ssl.keystore", ("key", "certificate.chain"), CONVERT_KEY) if own else None
        if shown is not None:
            if shown[0] == "ssl.keystore.location":
                warn_if_open(Path(self._value(shown[0])), "the private key")
            password = self._value("ssl.key.password")
            self._use(*shown, lambda text: tls_files.show(context, text, password))
        return context

    def _store(self, name: str, parts: tuple[str, ...], convert: str) -> tuple[str, str] | None:
        """The key that gives a store, and its PEM text; None where neither a file nor its parts are given."""
        location, inline = f"{name}.location", [f"{name}.{part}" for part in parts]
        if location not in self._given and not any(key in self._given for key in inline):
            return None
        kind = self._value(f"{name}.type", "JKS").upper()
        if kind != "PEM":
            path = self._value(location, f"{name}.jks")
            command = convert.format(path=path)
            told = f"{kind} is not read here; convert it ({command}) and set {name}.type=PEM"
            raise self._wrong(f"{name}.type" if f"{name}.type" in self._given else location, told)
        if location not in self._given:
            return inline[0], "\n".join(map(self._value, inline))
        path = self._value(location)
        try:
            return location, Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text: is it PEM?"
            raise self._wrong(location, f"cannot read {path}: {reason}") from error

    def _use(self, key: str, text: str, use: Callable[[str], None]) -> None:
        try:
            use(text)
        except ssl.SSLError as error:
            hint = "; is ssl.key.password right?" if key.startswith("ssl.keystore") else ""
            raise self._wrong(key, f"OpenSSL cannot use it ({error}){hint}") from error
        except ValueError as error:
            raise self._wrong(key, str(error)) from error

    def _value(self, key: str, default: str = "") -> str:
        return self._given[key].value.strip() if key in self._given else default

    def _wrong(self, key: str, text: str) -> ConfigError:
        """Where the key stands, what it is, and what is wrong; never its value, which may be secret."""
        source = self._given[key].source if key in self._given else str(self._path)
        return ConfigError(f"{source}: {key}: {text}")
