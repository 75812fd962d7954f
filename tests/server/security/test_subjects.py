"""Subjects of certificates in the form of Java."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.security.subjects import NoMatchingRuleError, distinguished_name, parse_rules
from tests.server.security.certificates import IA5, INTEGER, PRINTABLE, SEQUENCE, certificate, element


def test_the_most_specific_part_is_first() -> None:
    assert distinguished_name(certificate("C=DE", "O=ops", "CN=ann")) == "CN=ann,O=ops,C=DE"
    assert distinguished_name(certificate()) == ""


def test_attributes_have_the_keywords_of_the_rfc() -> None:
    subject = certificate("DC=org", "ST=S", "L=L", "STREET=s", "OU=o", "UID=u", version=False)
    assert distinguished_name(subject) == "UID=u,OU=o,STREET=s,L=L,ST=S,DC=org"


def test_a_part_can_have_several_attributes() -> None:
    assert distinguished_name(certificate(("CN=ann", "UID=7"))) == "CN=ann+UID=7"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a,b", r"a\,b"),
        ('a"b\\', r"a\"b\\"),
        (" a ", r"\ a\ "),
        ("#a", r"\#a"),
        ("a#b", r"a\#b"),
        ("a,O=Example", r"a\,O\=Example"),
        ("  a b\r ", "\\ \\ a b\\\r\\ "),
        ("  ", r"\ \ "),
        ("a \n", "a \n"),
        ("a\0b", r"a\00b"),
        ("a;<b>+", r"a\;\<b\>\+"),
        ("Jörg", "Jörg"),
    ],
)
def test_special_characters_are_escaped(value: str, shown: str) -> None:
    assert distinguished_name(certificate(f"CN={value}")) == f"CN={shown}"


def test_an_attribute_without_a_keyword_is_in_der() -> None:
    email = "1.2.840.113549.1.9.1"
    assert distinguished_name(certificate(f"{email}=a@b", kind=IA5)) == f"{email}=#1603614062"
    assert distinguished_name(certificate("2.5.4.5=12", "CN=a", kind=PRINTABLE)) == "CN=a,2.5.4.5=#13023132"
    assert distinguished_name(certificate("2.999.1=v")) == "2.999.1=#0c0176"
    long = distinguished_name(certificate(f"{email}={200 * 'a'}", kind=IA5))
    assert long.startswith(f"{email}=#168200c861")


def test_a_value_that_is_no_text_is_in_der() -> None:
    assert distinguished_name(certificate("CN=\1", kind=INTEGER)) == "CN=#020101"


@pytest.mark.parametrize(
    "broken", [b"", b"\x30", b"\x30\x80\0\0", b"\x30\x82\1", element(SEQUENCE, element(SEQUENCE))]
)
def test_what_is_no_certificate_is_refused(broken: bytes) -> None:
    with pytest.raises(ValueError, match=r"Insufficient data|is missing from structure"):
        distinguished_name(broken)


@given(st.integers(0, 90), st.integers(0, 255))
def test_no_damage_causes_another_error(place: int, octet: int) -> None:
    damaged = bytearray(certificate("O=ops", "CN=ann", "2.5.4.5=1"))
    damaged[place % len(damaged)] = octet
    with suppress(ValueError):
        assert isinstance(distinguished_name(bytes(damaged)), str)


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
