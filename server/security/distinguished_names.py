"""The subject of a certificate as Kafka writes it in principals (RFC 2253; Java: X500Principal.getName).

It is read from the certificate in DER: what Python shows of a subject lacks the types of its values.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
"""Object identifier of an attribute -> its keyword in RFC 2253. Java writes others with their values in DER."""

TEXTS = frozenset([0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1C, 0x1E])
"""Tags of the types that Java takes for texts: UTF8, Printable, T61, IA5, General, Universal and BMP."""

VERSION = 0xA0
"""Tag of the version of a certificate. Certificates of version 1 lack it."""

BEFORE_SUBJECT = 4
"""Fields between version and subject: serial number, signature algorithm, issuer and validity."""

_SPECIAL = re.compile(r'[,=+<>#;"\\]|^[ \r]+|[ \r]+\Z|\0')
"""What Java escapes: more than the RFC asks for. A rule must not take a part of a value for an attribute."""


class Element(NamedTuple):
    """An element of DER. `encoded` includes its tag and length."""

    tag: int
    content: bytes
    encoded: bytes


def distinguished_name(certificate: bytes) -> str:
    """Return the subject of a certificate in DER: the most specific part first. Raises ValueError."""
    (whole,) = _elements(certificate)
    signed, *_ = _elements(whole.content)
    fields = [each for each in _elements(signed.content) if each.tag != VERSION]
    if len(fields) <= BEFORE_SUBJECT:
        raise ValueError("a certificate without a subject")
    groups = reversed(list(_elements(fields[BEFORE_SUBJECT].content)))
    return ",".join("+".join(map(_attribute, _elements(group.content))) for group in groups)


def _attribute(attribute: Element) -> str:
    identifier, value = _elements(attribute.content)
    name = _identifier(identifier.content)
    if name not in KEYWORDS or value.tag not in TEXTS:
        return f"{KEYWORDS.get(name, name)}=#{value.encoded.hex()}"
    # Java reads all texts as UTF-8, even those of other types.
    return f"{KEYWORDS[name]}={_SPECIAL.sub(_escaped, value.content.decode(errors='replace'))}"


def _escaped(match: re.Match[str]) -> str:
    return "".join(r"\00" if each == "\0" else f"\\{each}" for each in match[0])


def _elements(encoded: bytes) -> Iterator[Element]:
    """Yield the elements that follow each other. Raises ValueError."""
    while encoded:
        start, length = 2, int.from_bytes(encoded[1:2])
        if length > 0x80:
            start += length - 0x80
            length = int.from_bytes(encoded[2:start])
        elif length == 0x80:
            raise ValueError("an element of BER without a length")
        end = start + length
        if len(encoded) < end:
            raise ValueError("an element of DER that is cut short")
        yield Element(encoded[0], encoded[start:end], encoded[:end])
        encoded = encoded[end:]


def _identifier(content: bytes) -> str:
    """Return an object identifier with dots. The first number of its content holds two."""
    numbers, number = [], 0
    for octet in content:
        number = number << 7 | octet & 0x7F
        if octet < 0x80:
            numbers.append(number)
            number = 0
    if not numbers:
        raise ValueError("an object identifier without a number")
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))
