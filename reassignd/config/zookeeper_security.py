"""What the settings of `zookeeper_keys` make: how we come to ZooKeeper itself."""

import ssl
from pathlib import Path

from backends.zookeeper.session.security import SaslLogin, ZookeeperSecurity
from reassignd.config import jaas, tls_files
from reassignd.config.secret_files import warn_if_open
from reassignd.config.setting_types import Key
from reassignd.config.zookeeper_keys import ZookeeperKeys as Keys
from reassignd.errors import ConfigError

SECTION = "Client"
"""Of the JAAS file: ZooKeeper's own clients, brokers among them, log in by the section of that name."""
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
"""Whoever reads these files can log in as reassignd."""


def security(settings: Keys) -> ZookeeperSecurity:
    """What the settings describe. Raises ConfigError, naming the setting, for what cannot be used; it tells no secret."""
    made = ZookeeperSecurity(_tls(settings), _login(settings), _digest(settings), settings.zookeeper_set_acl)
    if made.set_acl and made.login is None and settings.zookeeper_tls_certificate_file is None:
        raise ConfigError(
            "zookeeper.set.acl=true needs a login that brokers have too: set zookeeper.jaas.file, or"
            " zookeeper.tls.certificate.file"
        )
    return made


def _login(settings: Keys) -> SaslLogin | None:
    key = Keys.zookeeper_jaas_file
    text = _text(settings, key)
    if text is None:
        return None
    try:
        login = jaas.parse(jaas.section(text, SECTION))
    except ValueError as error:
        raise _wrong(settings, key, str(error)) from error
    if login.module != LOGIN_MODULE:
        told = f"only {LOGIN_MODULE} (SASL with DIGEST-MD5) can be used here, not {login.module}"
        raise _wrong(settings, key, told)
    for name in SaslLogin._fields:
        if not login.options.get(name):
            raise _wrong(settings, key, f'expected {name}="..." in the section {SECTION}')
    return SaslLogin(*(login.options[name] for name in SaslLogin._fields))


def _digest(settings: Keys) -> str | None:
    key = Keys.zookeeper_digest_file
    line = _line(settings, key)
    if line is not None and not all(line.partition(":")):
        raise _wrong(settings, key, "expected USER:PASSWORD")
    return line


def _tls(settings: Keys) -> ssl.SSLContext | None:
    if not settings.zookeeper_ssl_client_enable:
        for key in TLS_FILES:
            if _path(settings, key) is not None:
                raise ConfigError(f"{key.name} is set without zookeeper.ssl.client.enable=true")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.zookeeper_ssl_endpoint_identification_algorithm != ""
    authorities = _text(settings, Keys.zookeeper_tls_ca_file)
    if authorities is None:
        context.load_default_certs()
    else:
        try:
            tls_files.trust(context, authorities)
        except (ssl.SSLError, ValueError) as error:
            raise _wrong(settings, Keys.zookeeper_tls_ca_file, str(error)) from error
    _show(context, settings)
    return context


def _show(context: ssl.SSLContext, settings: Keys) -> None:
    """Have the context show our certificate, if there is one."""
    certificate = _text(settings, Keys.zookeeper_tls_certificate_file)
    if certificate is None:
        for key in TLS_FILES[2:]:
            if _path(settings, key) is not None:
                raise ConfigError(f"{key.name} is set without zookeeper.tls.certificate.file")
        return
    private = _text(settings, Keys.zookeeper_tls_key_file)
    password = _line(settings, Keys.zookeeper_tls_key_password_file)
    # A key in the file of the certificate is another one where a file is named for it.
    chain = certificate if private is None else tls_files.blocks(certificate, "CERTIFICATE") + private
    try:
        tls_files.show(context, chain, password or "")
    except (ssl.SSLError, ValueError) as error:
        told = f"OpenSSL cannot use it with its key ({error}); is zookeeper.tls.key.password.file right?"
        raise _wrong(settings, Keys.zookeeper_tls_certificate_file, told) from error


def _text(settings: Keys, key: Key[Path | None]) -> str | None:
    """What the file holds that the setting names, if it names one."""
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
    """The only line of that file."""
    text = _text(settings, key)
    if text is None:
        return None
    line = text.strip("\r\n")
    if not line or len(line.splitlines()) > 1:
        raise _wrong(settings, key, "expected one line")
    return line


def _path(settings: Keys, key: Key[Path | None]) -> Path | None:
    path: Path | None = settings.values.get(key.name)
    return path


def _wrong(settings: Keys, key: Key[Path | None], text: str) -> ConfigError:
    return ConfigError(f"{key.name}: {_path(settings, key)}: {text}")
