"""The subject of a certificate as Kafka writes it in principals (RFC 2253; Java: X500Principal.getName).

It is read from the certificate in DER: what Python shows of a subject lacks the types of its values. asn1crypto reads
it, and is imported with the first certificate, because that takes a tenth of a second.
"""

import re

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

_SPECIAL = re.compile(r'[,=+<>#;"\\]|^[ \r]+|[ \r]+\Z|\0')
"""What Java escapes: more than the RFC asks for. A rule must not take a part of a value for an attribute."""


def distinguished_name(certificate: bytes) -> str:
    """Return the subject of a certificate in DER: the most specific part first. Raises ValueError."""
    from asn1crypto.x509 import Certificate

    parts = reversed(list(Certificate.load(certificate, strict=True).subject.chosen))
    return ",".join("+".join(_attribute(attribute.contents) for attribute in part) for part in parts)


def _attribute(encoded: bytes) -> str:
    """Return an attribute, of which asn1crypto would refuse types of values that Java takes."""
    from asn1crypto.core import ObjectIdentifier
    from asn1crypto.parser import parse, peek

    middle = peek(encoded)
    identifier, value = ObjectIdentifier.load(encoded[:middle]).dotted, encoded[middle:]
    *_, content, _ = parse(value, strict=True)
    if identifier not in KEYWORDS or value[0] not in TEXTS:
        return f"{KEYWORDS.get(identifier, identifier)}=#{value.hex()}"
    # Java reads all texts as UTF-8, even those of other types.
    return f"{KEYWORDS[identifier]}={_SPECIAL.sub(_escaped, content.decode(errors='replace'))}"


def _escaped(match: re.Match[str]) -> str:
    return "".join(r"\00" if each == "\0" else f"\\{each}" for each in match[0])
