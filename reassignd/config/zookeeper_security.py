"""The security of the ZooKeeper session.

It consists of TLS, login (SASL, digest) and ACLs, from the settings in `reassignd.config.keys`.
"""

import ssl
from importlib.util import find_spec
from pathlib import Path

from backends.zookeeper.session.security import SaslLogin, ZookeeperSecurity
from common.tls import client_context, load_identity, pem_blocks
from common.wording import missing
from reassignd.config import jaas
from reassignd.config.errors import ConfigError
from reassignd.config.keys import ZookeeperKeys as Keys
from reassignd.config.secret_files import warn_if_open
from reassignd.config.setting_types import Key

SECTION = "Client"
"""The section of the JAAS file that ZooKeeper's clients, Kafka's brokers among them, read."""
LOGIN_MODULE = "DigestLoginModule"

TLS_FILES = (
    Keys.zookeeper_tls_ca_file,
    Keys.zookeeper_tls_certificate_file,
    Keys.zookeeper_tls_key_file,
    Keys.zookeeper_tls_key_password_file,
)

SECRETS = {
    Keys.zookeeper_jaas_file,
    Keys.zookeeper_digest_file,
    Keys.zookeeper_tls_key_file,
    Keys.zookeeper_tls_key_password_file,
}
"""Settings whose files hold secrets: a user who reads one of them can log in as reassignd."""


def security(settings: Keys) -> ZookeeperSecurity:
    """Return the configured security. Raises ConfigError, which names the setting and shows no secret."""
    configured = ZookeeperSecurity(
        _tls(settings), _login(settings), _digest(settings), settings.zookeeper_set_acl
    )
    if configured.set_acl and configured.login is None and settings.zookeeper_tls_certificate_file is None:
        raise ConfigError(
            "zookeeper.set.acl=true needs a login that brokers have too: set zookeeper.jaas.file, or"
            " zookeeper.tls.certificate.file"
        )
    return configured


def _login(settings: Keys) -> SaslLogin | None:
    key = Keys.zookeeper_jaas_file
    text = _text(settings, key)
    if text is None:
        return None
    try:
        login = jaas.parse(jaas.section(text, SECTION))
    except ValueError as error:
        raise _error(settings, key, str(error)) from error
    if login.module != LOGIN_MODULE:
        text = f"only {LOGIN_MODULE} (SASL with DIGEST-MD5) can be used here, not {login.module}"
        raise _error(settings, key, text)
    for name in SaslLogin._fields:
        if not login.options.get(name):
            raise _error(settings, key, f'expected {name}="..." in the section {SECTION}')
    if find_spec("puresasl") is None:
        raise ConfigError(missing(key.name, "a further package", "zookeeper-sasl"))
    return SaslLogin(*(login.options[name] for name in SaslLogin._fields))


def _digest(settings: Keys) -> str | None:
    key = Keys.zookeeper_digest_file
    line = _line(settings, key)
    if line is not None and not all(line.partition(":")):
        raise _error(settings, key, "expected USER:PASSWORD")
    return line


def _tls(settings: Keys) -> ssl.SSLContext | None:
    if not settings.zookeeper_ssl_client_enable:
        for key in TLS_FILES:
            if _path(settings, key) is not None:
                raise ConfigError(f"{key.name} is set without zookeeper.ssl.client.enable=true")
        return None
    authorities = _text(settings, Keys.zookeeper_tls_ca_file)
    check_hostname = settings.zookeeper_ssl_endpoint_identification_algorithm != ""
    try:
        context = client_context(authorities, check_hostname=check_hostname)
    except (ssl.SSLError, ValueError) as error:
        raise _error(settings, Keys.zookeeper_tls_ca_file, str(error)) from error
    _load_identity(context, settings)
    return context


def _load_identity(context: ssl.SSLContext, settings: Keys) -> None:
    """Give the context the configured client certificate, if there is one."""
    certificate = _text(settings, Keys.zookeeper_tls_certificate_file)
    if certificate is None:
        for key in TLS_FILES[2:]:
            if _path(settings, key) is not None:
                raise ConfigError(f"{key.name} is set without zookeeper.tls.certificate.file")
        return
    private = _text(settings, Keys.zookeeper_tls_key_file)
    password = _line(settings, Keys.zookeeper_tls_key_password_file)
    # With a key file of its own, a key in the certificate's file is ignored.
    pem = certificate if private is None else pem_blocks(certificate, "CERTIFICATE") + private
    try:
        load_identity(context, pem, password or "")
    except (ssl.SSLError, ValueError) as error:
        text = f"OpenSSL cannot use it with its key ({error}); is zookeeper.tls.key.password.file right?"
        raise _error(settings, Keys.zookeeper_tls_certificate_file, text) from error


def _text(settings: Keys, key: Key[Path | None]) -> str | None:
    """Return the content of the file that the setting names; None when the setting is empty."""
    path = _path(settings, key)
    if path is None:
        return None
    if key in SECRETS:
        warn_if_open(path, "the password or key")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"{key.name}: cannot read {path}: {reason}") from error


def _line(settings: Keys, key: Key[Path | None]) -> str | None:
    """Return the only line of the file that the setting names; None when the setting is empty."""
    text = _text(settings, key)
    if text is None:
        return None
    line = text.strip("\r\n")
    if not line or len(line.splitlines()) > 1:
        raise _error(settings, key, "expected one line")
    return line


def _path(settings: Keys, key: Key[Path | None]) -> Path | None:
    path: Path | None = settings.values.get(key.name)
    return path


def _error(settings: Keys, key: Key[Path | None], text: str) -> ConfigError:
    return ConfigError(f"{key.name}: {_path(settings, key)}: {text}")
