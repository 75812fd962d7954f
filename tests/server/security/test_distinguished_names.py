"""Subjects of certificates in the form of Java."""

from typing import Any

import pytest

from server.security.distinguished_names import distinguished_name


def certificate(*pairs: tuple[str, str]) -> dict[str, Any]:
    """Return what Python's `getpeercert` returns for a subject with one attribute in each part."""
    return {"subject": tuple((pair,) for pair in pairs)}


def test_the_most_specific_part_is_first() -> None:
    subject = certificate(("countryName", "DE"), ("organizationName", "ops"), ("commonName", "ann"))
    assert distinguished_name(subject) == "CN=ann,O=ops,C=DE"


def test_attributes_have_the_keywords_of_the_rfc() -> None:
    subject = certificate(
        ("domainComponent", "org"), ("stateOrProvinceName", "S"), ("localityName", "L"), ("userId", "u")
    )
    assert distinguished_name(subject) == "UID=u,L=L,ST=S,DC=org"


def test_a_part_can_have_several_attributes() -> None:
    subject = {"subject": ((("commonName", "ann"), ("userId", "7")),)}
    assert distinguished_name(subject) == "CN=ann+UID=7"


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
    ],
)
def test_special_characters_are_escaped(value: str, shown: str) -> None:
    assert distinguished_name(certificate(("commonName", value))) == f"CN={shown}"


def test_an_email_address_is_in_der() -> None:
    name = distinguished_name(certificate(("emailAddress", "a@b.c")))
    assert name == "1.2.840.113549.1.9.1=#1605" + b"a@b.c".hex()
    long = distinguished_name(certificate(("emailAddress", "a" * 200)))
    assert long.startswith("1.2.840.113549.1.9.1=#168200c8")


def test_an_unknown_attribute_keeps_its_name() -> None:
    assert distinguished_name(certificate(("street", "x"))) == "street=x"
