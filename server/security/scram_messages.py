"""The first message of a SCRAM client, as Kafka reads it (RFC 5802; Kafka: ScramMessages.ClientFirstMessage)."""

import re

_NAME = r"(?:[^=,\x00\x80-\U0010ffff]|=2C|=3D)+"
_VALUE = r"[\x01-\x2b\x2d-\x7f]+"
_NONCE = r"[\x21-\x2b\x2d-\x7e]+"
_FIRST = re.compile(
    rf"n,(?:a=(?P<authorized>{_NAME}))?,"
    rf"(?P<bare>(?:m={_VALUE},)?n=(?P<user>{_NAME}),r={_NONCE}(?P<extensions>(?:,[A-Za-z]+={_VALUE})*))"
)


def first_message(token: bytes) -> re.Match[str] | None:
    """Return the parts of a client's first message, of which both sides sign `bare`; None if it is not valid."""
    return _FIRST.fullmatch(token.decode(errors="replace"))


def by_delegation_token(first: re.Match[str]) -> bool:
    """Return whether a first message has the id of a delegation token in place of a user (KIP-48).

    As in Kafka, the extension has this letter case only, and the last one counts.
    """
    extensions = dict(pair.split("=", 1) for pair in first["extensions"].split(",")[1:])
    return extensions.get("tokenauth", "").lower() == "true"


def decoded(name: str) -> str:
    """Return a name of a message without its escapes."""
    return name.replace("=2C", ",").replace("=3D", "=")
