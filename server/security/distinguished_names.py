"""The subject of a certificate as Kafka writes it in principals (RFC 2253; Java: X500Principal.getName)."""

import re
from typing import Any

KEYWORDS = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}
"""Name of an attribute in Python -> its keyword in RFC 2253."""

EMAIL_ADDRESS = "emailAddress"
EMAIL_OID = "1.2.840.113549.1.9.1"
"""RFC 2253 has no keyword for it: Java writes the object identifier, and the value in DER."""

IA5_STRING = 0x16

_SPECIAL = re.compile(r'[,=+<>#;"\\]|^[ \r]+|[ \r]+\Z|\0')
"""What Java escapes: more than the RFC asks for. A rule must not take a part of a value for an attribute."""


def distinguished_name(certificate: dict[str, Any]) -> str:
    """Return the subject of `SSLSocket.getpeercert()`: the most specific part first."""
    groups = reversed(certificate.get("subject", ()))
    return ",".join("+".join(_attribute(name, value) for name, value in group) for group in groups)


def _attribute(name: str, value: str) -> str:
    if name == EMAIL_ADDRESS:
        octets = value.encode()
        return f"{EMAIL_OID}=#{IA5_STRING:02x}{_der_length(len(octets))}{octets.hex()}"
    return f"{KEYWORDS.get(name, name)}={_SPECIAL.sub(_escaped, value)}"


def _escaped(match: re.Match[str]) -> str:
    return "".join(r"\00" if each == "\0" else f"\\{each}" for each in match[0])


def _der_length(length: int) -> str:
    return f"{length:02x}" if length < 0x80 else f"82{length:04x}"
