"""Users and options of the JAAS settings `plain.sasl.jaas.config` and `oauthbearer.sasl.jaas.config`."""

from collections.abc import Mapping

from reassignd.config import jaas
from reassignd.errors import SettingError
from server.security.unsecured_tokens import UnsecuredTokens

PLAIN_MODULE = "PlainLoginModule"
BEARER_MODULE = "OAuthBearerLoginModule"
USER_PREFIX = "user_"
OPTION_PREFIX = "unsecuredValidator"


def plain_users(text: str) -> Mapping[str, str]:
    """Return the passwords by name: the options `user_NAME`, as on Kafka's brokers. Raises SettingError."""
    options = _options("plain.sasl.jaas.config", text, PLAIN_MODULE)
    return {
        name.removeprefix(USER_PREFIX): value
        for name, value in options.items()
        if name.startswith(USER_PREFIX)
    }


def unsecured_tokens(text: str) -> UnsecuredTokens:
    """Return the validator with the options `unsecuredValidator…`. Raises SettingError."""
    key = "oauthbearer.sasl.jaas.config"
    options = _options(key, text, BEARER_MODULE)
    given = {
        name: options.get(f"{OPTION_PREFIX}{name}", "").strip()
        for name in ("PrincipalClaimName", "ScopeClaimName", "RequiredScope", "AllowableClockSkewMs")
    }
    skew = given["AllowableClockSkewMs"] or "0"
    if not (skew.isascii() and skew.isdecimal() and len(skew) <= 10):
        raise SettingError(f"{key}: {OPTION_PREFIX}AllowableClockSkewMs is not a number of milliseconds")
    return UnsecuredTokens(
        given["PrincipalClaimName"] or "sub",
        given["ScopeClaimName"] or "scope",
        tuple(given["RequiredScope"].split()),
        int(skew),
    )


def _options(key: str, text: str, module: str) -> Mapping[str, str]:
    """Return the options of the login module; none for an empty text."""
    if not text.strip():
        return {}
    try:
        login = jaas.parse(text)
    except ValueError as error:
        raise SettingError(f"{key}: {error}") from error
    if login.module != module:
        raise SettingError(f"{key}: expected {module}, not {login.module}")
    return login.options
