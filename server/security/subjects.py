"""The subject of a certificate (Java: X500Principal.getName), and the principal that rules make of it.

A subject has the form of RFC 2253. It is read from the certificate in DER: what Python shows of a subject
lacks the types of its values. asn1crypto reads it, and is imported with the first certificate, because that
takes a tenth of a second. The rules are those of `ssl.principal.mapping.rules` (KIP-371; Kafka:
SslPrincipalMapper).
"""

import re
from collections.abc import Sequence
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
"""Object identifier of an attribute -> its keyword in RFC 2253. Java writes others with their values in
DER."""

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


_RULE = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?))\s*(?:,\s*|$)"
)
_REFERENCE = re.compile(r"\\(?P<literal>.)|\$(?P<group>[0-9]+)")


class NoMatchingRuleError(Exception):
    """No rule applies to a name: the client is not accepted."""


class Rule(NamedTuple):
    """One rule. `pattern` None stands for DEFAULT; `case` is L, U or empty."""

    pattern: re.Pattern[str] | None = None
    replacement: str = ""
    case: str = ""

    def apply(self, name: str) -> str | None:
        """Return the principal's name, or None if the rule does not apply."""
        if self.pattern is None:
            return name
        if self.pattern.fullmatch(name) is None:
            return None
        # As in Kafka, all matches are replaced: a pattern that also matches the empty text does so twice.
        result = self.pattern.sub(self._replaced, name)
        return {"L": result.lower(), "U": result.upper()}.get(self.case, result)

    def _replaced(self, match: re.Match[str]) -> str:
        return _REFERENCE.sub(lambda reference: _expanded(reference, match), self.replacement)


class PrincipalMapping:
    """The rules in their order; the first that applies decides."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules

    def name(self, subject: str) -> str:
        """Return the principal's name for a certificate's subject. Raises NoMatchingRuleError."""
        for rule in self._rules:
            name = rule.apply(subject)
            if name is not None:
                return name
        raise NoMatchingRuleError(f"no rule of ssl.principal.mapping.rules applies to {subject}")


def parse_rules(text: str) -> PrincipalMapping:
    """Parse the rules: `RULE:PATTERN/REPLACEMENT/` with L or U, or DEFAULT, separated by commas.

    Raises ValueError, which shows the rule.
    """
    rules, start = [], 0
    stripped = text.strip()
    while start < len(stripped):
        match = _RULE.match(stripped, start)
        if match is None:
            raise ValueError(f"invalid rule: {stripped[start:]}")
        rules.append(_rule(match))
        start = match.end()
    return PrincipalMapping(rules or [Rule()])


def _rule(match: re.Match[str]) -> Rule:
    if match["default"]:
        return Rule()
    try:
        pattern = re.compile(match["pattern"])
    except re.error as error:
        raise ValueError(f"invalid pattern {match['pattern']}: {error}") from error
    return Rule(pattern, match["replacement"], match["case"])


def _expanded(reference: re.Match[str], match: re.Match[str]) -> str:
    """Return what a reference of the replacement stands for: a group, or itself if there is no such group.

    As in Java, a number has as many digits as there is a group for: with two groups, $12 is $1 and a 2.
    """
    if reference["literal"] is not None:
        return reference["literal"]
    digits, groups = reference["group"], match.re.groups
    if int(digits[0]) > groups:
        return reference[0]
    length = max(n for n in range(1, len(digits) + 1) if int(digits[:n]) <= groups)
    return (match[int(digits[:length])] or "") + digits[length:]
