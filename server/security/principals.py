"""Principals of TLS clients: the rules of `ssl.principal.mapping.rules` (KIP-371; Kafka: SslPrincipalMapper)."""

import re
from collections.abc import Sequence
from typing import NamedTuple

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
