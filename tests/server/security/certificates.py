"""Builders of certificates in DER, with a subject and without anything else of interest."""

import asyncio

from server.security.subjects import KEYWORDS

UTF8, PRINTABLE, IA5, INTEGER = 0x0C, 0x13, 0x16, 0x02

BITS, OBJECT_ID, SEQUENCE, SET, VERSION = 0x03, 0x06, 0x30, 0x31, 0xA0

OIDS = {keyword: oid for oid, keyword in KEYWORDS.items()}


def element(tag: int, *parts: bytes) -> bytes:
    """Return an element of DER with these parts."""
    content = b"".join(parts)
    size = len(content)
    length = bytes([size]) if size < 0x80 else b"\x82" + size.to_bytes(2)
    return bytes([tag]) + length + content


def identifier(dotted: str) -> bytes:
    first, second, *others = map(int, dotted.split("."))
    octets = bytearray()
    for number in (40 * first + second, *others):
        septets = [number & 0x7F]
        while number := number >> 7:
            septets.append(number & 0x7F | 0x80)
        octets += bytes(reversed(septets))
    return element(OBJECT_ID, bytes(octets))


def certificate(*groups: str | tuple[str, ...], kind: int = UTF8, version: bool = True) -> bytes:
    """Return a certificate with a subject, from attributes such as `CN=ann` or `2.5.4.5=1`.

    A tuple is one part.
    """
    parts = []
    for group in groups:
        pairs = [text.split("=", 1) for text in ([group] if isinstance(group, str) else group)]
        values = [(identifier(OIDS.get(name, name)), element(kind, value.encode())) for name, value in pairs]
        parts.append(element(SET, *(element(SEQUENCE, *value) for value in values)))
    before = [element(VERSION, element(INTEGER, b"\2"))] if version else []
    before += [element(INTEGER, b"\1"), *3 * [element(SEQUENCE)]]
    signed = element(SEQUENCE, *before, element(SEQUENCE, *parts), element(SEQUENCE))
    return element(SEQUENCE, signed, element(SEQUENCE), element(BITS, b"\0"))


class FakeTls:
    """The TLS of a connection whose other side has shown the certificate."""

    def __init__(self, shown: bytes | None) -> None:
        self.shown = shown

    def getpeercert(self, binary_form: bool) -> bytes | None:
        assert binary_form
        return self.shown


def transport(shown: bytes | None = None) -> asyncio.BaseTransport:
    """Return the transport of a connection with TLS."""
    return asyncio.BaseTransport({"ssl_object": FakeTls(shown)})
