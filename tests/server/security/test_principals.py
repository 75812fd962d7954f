"""The rules that map subjects of certificates to names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.security.principals import NoMatchingRuleError, parse_rules

SUBJECT = "CN=kafka-admin,OU=ServiceUsers,O=Unknown,L=Unknown"


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ("DEFAULT", SUBJECT),
        ("", SUBJECT),
        (r"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", "kafka-admin"),
        (r"RULE:^CN=(.*?),OU=(.*?),.*$/$1@$2/L", "kafka-admin@serviceusers"),
        (r"RULE:^CN=(.*?),.*$/$1/U", "KAFKA-ADMIN"),
        (r"RULE:^OU=(.*?)$/$1/ , DEFAULT", SUBJECT),
        (r"RULE:^OU=(.*)$/$1/,RULE:^CN=([^,]*),OU=S.*$/user-$1/,DEFAULT", "user-kafka-admin"),
        (r"RULE:^CN=(.*?),.*$/$1\/$2$0x/L", "kafka-admin/$2" + SUBJECT.lower() + "x"),
        (r"RULE:^CN=([a-z]*)-([a-z]*),.*$/$21$3/", "admin1$3"),
    ],
)  # fmt: skip
def test_the_first_rule_that_applies_decides(rules: str, name: str) -> None:
    assert parse_rules(rules).name(SUBJECT) == name


def test_a_pattern_must_match_the_whole_subject() -> None:
    with pytest.raises(NoMatchingRuleError, match=r"no rule of ssl.principal.mapping.rules applies to CN=a"):
        parse_rules("RULE:CN/x/").name("CN=a")


def test_all_matches_are_replaced_as_in_java() -> None:
    assert parse_rules("RULE:.*/x/").name("CN=a") == "xx"
    assert parse_rules("RULE:^.*$/x/").name("CN=a") == "x"


@pytest.mark.parametrize(
    "rules", ["RULE:a", "RULE:a/b", "RULE:a/b/X", "default", "RULE:(/b/", "DEFAULT DEFAULT"]
)
def test_invalid_rules_are_refused(rules: str) -> None:
    with pytest.raises(ValueError, match="invalid"):
        parse_rules(rules)


@given(st.text(st.characters(exclude_characters="\n"), min_size=1))
def test_the_default_keeps_every_name(subject: str) -> None:
    assert parse_rules("DEFAULT").name(subject) == subject
