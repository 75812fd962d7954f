from pathlib import Path

import pytest

from common.address import Address
from reassignd.config.setting_types import (
    ADDRESS,
    ADDRESS_OR_SOCKET,
    FILE,
    HOST,
    LISTENERS,
    LONGEST_NAME,
    NAME,
    PATH,
    WILDCARDS,
    Key,
    Listener,
    SettingType,
    SocketPath,
    choice,
    integer,
    optional,
    words,
)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9092", Address("127.0.0.1", 9092)),
        ("localhost:0", Address("localhost", 0)),
        ("[::1]:9092", Address("::1", 9092)),
    ],
)
def test_an_address_is_parsed_and_written(text: str, address: Address) -> None:
    assert ADDRESS.parse(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text", ["", "9092", ":9092", "host", "host:", "host:x", "host:65536", "host:-1", "::1:9092"]
)
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an address"):
        ADDRESS.parse(text)


@pytest.mark.parametrize("host", ["a..b", "k" * 64, ".", "a\0b"])
def test_a_host_name_that_cannot_be_asked_for_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match=r"label|NUL"):
        ADDRESS.parse(f"{host}:9092")


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("broker.example", "broker.example"),
        ("10.0.0.1", "10.0.0.1"),
        ("::1", "::1"),
        ("[::1]", "::1"),
        ("", ""),
    ],
)
def test_a_host_has_no_brackets(text: str, host: str) -> None:
    assert HOST.parse(text) == host


@pytest.mark.parametrize(
    "text",
    ["broker.example:9092", "[::1]:9092", "a, b", "https://a", "a/b", "[a]", "a..b", *WILDCARDS, "[::]"],
)
def test_a_host_that_no_client_can_connect_to_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (of several functions of the library)
        HOST.parse(text)


@pytest.mark.parametrize("kind", [PATH, FILE, ADDRESS_OR_SOCKET])
def test_a_path_with_nul_is_refused(kind: SettingType[object]) -> None:
    with pytest.raises(ValueError, match="NUL"):
        kind.parse("unix:/a\0b")


def test_the_limits_of_a_range_are_valid() -> None:
    assert [integer(1, 3).parse(text) for text in ("1", "3")] == [1, 3]


@pytest.mark.parametrize("text", ["0", "4", "one"])
def test_an_integer_out_of_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=text):
        integer(1, 3).parse(text)


def test_a_choice_accepts_its_words_only() -> None:
    assert choice("a", "b").parse("b") == "b"
    assert choice("INFO", "WARN").parse("warn") == "WARN"
    with pytest.raises(ValueError, match="c"):
        choice("a", "b").parse("c")


def test_an_optional_value_can_be_empty() -> None:
    assert [optional(choice("a", "b")).parse(text) for text in ("", "B")] == ["", "b"]
    with pytest.raises(ValueError, match="c"):
        optional(choice("a", "b")).parse("c")


def test_listeners_have_names_and_protocols() -> None:
    parsed = LISTENERS.parse("A:sasl_ssl://h:1, B:PLAINTEXT://[::1]:0")
    assert parsed == (
        Listener("A", "SASL_SSL", Address("h", 1)),
        Listener("B", "PLAINTEXT", Address("::1", 0)),
    )
    assert LISTENERS.parse("") == ()


@pytest.mark.parametrize(
    "text", ["A://h:1", ":SSL://h:1", "A:TLS://h:1", "A:SSL:h:1", "A:SSL://h", "A:SSL://h:1,"]
)
def test_an_invalid_listener_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        LISTENERS.parse(text)


def test_an_empty_path_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        PATH.parse("")


class Holder:
    some_number = Key(integer(1, 3), "2", "A number.")

    def __init__(self, **values: object) -> None:
        self.values = values


def test_a_key_is_named_after_its_attribute_with_dots() -> None:
    assert Holder.some_number.name == "some.number"


def test_a_key_returns_the_value_or_the_default() -> None:
    assert Holder(**{"some.number": 3}).some_number == 3
    assert Holder().some_number == 2


def test_the_http_listener_is_an_address_or_a_unix_socket() -> None:
    assert ADDRESS_OR_SOCKET.parse("127.0.0.1:1") == Address("127.0.0.1", 1)
    place = ADDRESS_OR_SOCKET.parse("unix:/run/reassignd.sock")
    assert (place, str(place)) == (SocketPath(Path("/run/reassignd.sock")), "unix:/run/reassignd.sock")


@pytest.mark.parametrize("text", ["unix:", "unix", "/run/reassignd.sock"])
def test_an_invalid_address_or_socket_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not|empty"):
        ADDRESS_OR_SOCKET.parse(text)


def test_a_file_is_optional() -> None:
    assert (FILE.parse(""), FILE.parse("a.pem")) == (None, Path("a.pem"))


def test_a_list_of_words_has_each_word_once() -> None:
    kind = words("PLAIN", "SCRAM")
    assert kind.parse("scram, PLAIN,SCRAM") == ("SCRAM", "PLAIN")
    for text in ("", "PLAIN,", "GSSAPI"):
        with pytest.raises(ValueError):  # noqa: PT011
            kind.parse(text)


@pytest.mark.parametrize("text", ["", "prod", "orders, Frankfurt", "x" * LONGEST_NAME])
def test_a_name_is_taken_as_it_is(text: str) -> None:
    assert NAME.parse(text) == text


@pytest.mark.parametrize("text", [" prod", "prod ", "a\nb", "\x1b[31mred", "x" * (LONGEST_NAME + 1)])
def test_a_name_that_does_not_fit_a_line_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        NAME.parse(text)
