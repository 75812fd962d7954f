"""The security of the embedded cluster's listeners, from the settings in `reassignd.config.keys`."""

import logging
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from common.clock import RealClock, wall_clock
from controller.model.access import ScramCredential
from controller.state.state import State
from protocol.scram import SCRAM_MECHANISMS
from reassignd.config.errors import SettingError
from reassignd.config.keys import NO_CLIENT_AUTH, REQUIRED
from reassignd.config.settings import Settings
from reassignd.config.users import plain_users, read_users, unsecured_tokens
from reassignd.config.watched_file import WatchedFile
from reassignd.runtime.listeners.jwks_source import JwksUrl, jwks_source
from reassignd.runtime.listeners.tls import checked_server_context
from server.security.acls import AclAuthorizer
from server.security.login import Gate, LoginRules
from server.security.mechanisms import (
    OAUTHBEARER,
    PLAIN,
    BearerExchange,
    NewExchange,
    PlainExchange,
    Validate,
)
from server.security.scram_credentials import password_credential
from server.security.subjects import PrincipalMapping, parse_rules
from server.security.tokens import SignedTokens

log = logging.getLogger(__name__)

Count = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class ListenerSecurity:
    """The security of the listeners. `jwks` is to be read before the start, and to run until the end."""

    protocol: str
    tls: ssl.SSLContext | None
    authorizer: AclAuthorizer | None
    mapping: PrincipalMapping
    mechanisms: Mapping[str, NewExchange]
    max_reauth_ms: int
    jwks: JwksUrl | None = None
    requires_certificate: bool = False

    @property
    def is_open(self) -> bool:
        """Whether every connection may do everything."""
        return self.authorizer is None and not self.mechanisms and not self.requires_certificate

    def gate(self, count: Count) -> Gate:
        """Return the gate of the listeners; `count` counts answers by API key and error code."""
        login = LoginRules(self.mechanisms, wall_clock, self.max_reauth_ms, count)
        return Gate(self.authorizer, login if self.mechanisms else None, self.mapping)


def listener_security(settings: Settings, state: State) -> ListenerSecurity:
    """Return the configured security. Raises SettingError, which names the setting and shows no secret."""
    protocol = _protocol(settings)
    tls, requires = _tls(settings, protocol)
    try:
        mapping = parse_rules(settings.ssl_principal_mapping_rules)
    except ValueError as error:
        raise SettingError(f"ssl.principal.mapping.rules: {error}") from error
    jwks: JwksUrl | None = None
    mechanisms: dict[str, NewExchange] = {}
    if protocol.startswith("SASL_"):
        jwks, mechanisms = _mechanisms(settings, state)
    elif used := [key for key in SASL_SETTINGS if key in settings.values]:
        raise SettingError(
            f"{used[0]} is set, but the listener has no SASL: set listener.security.protocol to"
            " SASL_PLAINTEXT or SASL_SSL"
        )
    return ListenerSecurity(
        protocol,
        tls,
        _authorizer(settings, state),
        mapping,
        mechanisms,
        settings.connections_max_reauth_ms,
        jwks,
        requires,
    )


SASL_SETTINGS = (
    "sasl.users.file",
    "plain.sasl.jaas.config",
    "oauthbearer.sasl.jaas.config",
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.enabled.mechanisms",
    "connections.max.reauth.ms",
)
"""Settings without an effect on listeners without SASL. Nobody should think that their listener has
logins."""


def _protocol(settings: Settings) -> str:
    certificate = settings.listener_tls_certificate_file
    protocol = settings.listener_security_protocol or ("PLAINTEXT" if certificate is None else "SSL")
    if protocol.endswith("SSL") and certificate is None:
        raise SettingError(f"listener.security.protocol={protocol} needs listener.tls.certificate.file")
    if protocol.endswith("PLAINTEXT") and certificate is not None:
        raise SettingError(
            f"listener.tls.certificate.file is set, but listener.security.protocol={protocol} has no TLS"
        )
    return protocol


def _tls(settings: Settings, protocol: str) -> tuple[ssl.SSLContext | None, bool]:
    """Return the TLS context, and whether clients need a certificate."""
    certificate, key = settings.listener_tls_certificate_file, settings.listener_tls_key_file
    wanted, authorities = settings.ssl_client_auth, settings.listener_tls_client_ca_file
    if certificate is None:
        for name in ("listener.tls.key.file", "listener.tls.client.ca.file"):
            if settings.values.get(name) is not None:
                raise SettingError(f"{name} is set without listener.tls.certificate.file")
        if wanted != NO_CLIENT_AUTH:
            raise SettingError(f"ssl.client.auth={wanted}, but the listener has no TLS ({protocol})")
        return None, False
    if wanted != NO_CLIENT_AUTH and authorities is None:
        raise SettingError(f"ssl.client.auth={wanted} needs listener.tls.client.ca.file")
    # Certificates without ssl.client.auth would not be asked for, so the authorities are of no use then.
    context = checked_server_context(
        "listener.tls", certificate, key, authorities if wanted != NO_CLIENT_AUTH else None
    )
    if wanted == REQUIRED:
        context.verify_mode = ssl.CERT_REQUIRED
    return context, wanted == REQUIRED


def _authorizer(settings: Settings, state: State) -> AclAuthorizer | None:
    names = [name.strip() for name in settings.super_users.split(";") if name.strip()]
    for name in names:
        if ":" not in name:
            raise SettingError(f"super.users: {name} is not a principal such as User:admin")
    if not settings.authorizer_class_name:
        for key in ("super.users", "allow.everyone.if.no.acl.found"):
            if key in settings.values:
                raise SettingError(f"{key} has no effect without authorizer.class.name")
        return None
    return AclAuthorizer(state.acls, frozenset(names), settings.allow_everyone_if_no_acl_found)


def _mechanisms(settings: Settings, state: State) -> tuple[JwksUrl | None, dict[str, NewExchange]]:
    from server.security.scram import ScramExchange  # a tenth of a second

    passwords = _passwords(settings)
    credentials = ScramCredentials(state, passwords)
    made: dict[str, NewExchange] = {PLAIN: partial(PlainExchange, passwords)}
    for name in SCRAM_MECHANISMS:
        made[name] = partial(ScramExchange, name, credentials.find)
    jwks: JwksUrl | None = None
    if OAUTHBEARER in settings.sasl_enabled_mechanisms:
        jwks, validate = _token_validator(settings)
        made[OAUTHBEARER] = partial(BearerExchange, validate)
    return jwks, {name: made[name] for name in settings.sasl_enabled_mechanisms}


def _passwords(settings: Settings) -> Callable[[], Mapping[str, str]]:
    fixed = plain_users(settings.plain_sasl_jaas_config)
    if settings.sasl_users_file is None:
        return lambda: fixed
    file = WatchedFile(settings.sasl_users_file, read_users, "the passwords")
    return lambda: {**fixed, **file.current()} if fixed else file.current()


def _token_validator(settings: Settings) -> tuple[JwksUrl | None, Validate]:
    url = settings.sasl_oauthbearer_jwks_endpoint_url
    if not url:
        unsecured = unsecured_tokens(settings.oauthbearer_sasl_jaas_config)
        log.warning("OAUTHBEARER accepts unsecured tokens: every client can log in as any user")
        return None, lambda token: unsecured.validate(token, wall_clock())
    source = jwks_source(url, settings.sasl_oauthbearer_jwks_endpoint_refresh_ms / 1000, RealClock())
    audiences = [part.strip() for part in settings.sasl_oauthbearer_expected_audience.split(",")]
    signed = SignedTokens(
        source.keys,
        [part for part in audiences if part],
        settings.sasl_oauthbearer_expected_issuer,
        settings.sasl_oauthbearer_sub_claim_name,
        settings.sasl_oauthbearer_clock_skew_seconds,
        source.missing,
    )
    return source if isinstance(source, JwksUrl) else None, lambda token: signed.validate(token, wall_clock())


class ScramCredentials:
    """The stored credentials, and those of passwords in a file. A stored one takes precedence."""

    def __init__(self, state: State, passwords: Callable[[], Mapping[str, str]]) -> None:
        self._state, self._passwords = state, passwords
        self._made: dict[tuple[str, str], tuple[str, ScramCredential]] = {}
        """By user and mechanism: the password that the credential was made of, and the credential."""

    def find(self, user: str, mechanism: str) -> ScramCredential | None:
        """Return the credential; the first one of a password takes a few milliseconds."""
        stored = self._state.scram_credentials.get((user, mechanism))
        password = self._passwords().get(user)
        if stored is not None or password is None:
            return stored
        made = self._made.get((user, mechanism))
        if made is None or made[0] != password:
            credential = password_credential(user, SCRAM_MECHANISMS[mechanism], password)
            made = self._made[user, mechanism] = password, credential
        return made[1]
