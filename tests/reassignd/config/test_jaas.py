import pytest

from reassignd.config.jaas import Login, parse, section

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_a_module_and_its_options() -> None:
    text = f'{PLAIN} required username="alice" password="alice-secret";'
    assert parse(text) == Login("PlainLoginModule", {"username": "alice", "password": "alice-secret"})


@pytest.mark.parametrize(
    "text",
    [
        'M required a="b"c="d";',
        "M required a='b' c=d;",
        ' M\n\trequired\n a = "b"\n c = "d" ; ',
    ],
)
def test_quotes_and_blanks_as_java_takes_them(text: str) -> None:
    assert parse(text) == Login("M", {"a": "b", "c": "d"})


@pytest.mark.parametrize("password", ["a b", "a=b", "a;b", "", "p\\'q", "ä"])
def test_a_quoted_value_may_hold_anything(password: str) -> None:
    assert parse(f'M required p="{password}" u="x";').options["p"] == password.replace("\\", "")


def test_escapes_within_quotes() -> None:
    assert parse(r'M required p="a\"b\\c\td";').options["p"] == 'a"b\\c\td'


def test_a_module_without_options() -> None:
    assert parse("a.b.C required;") == Login("C", {})


@pytest.mark.parametrize(
    "text", ["", "M", "M required", 'M required a="b"', 'M sometimes a="b";', 'required a="b";']
)
def test_an_invalid_entry_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="MODULE required"):
        parse(text)


@pytest.mark.parametrize("rest", ['p="hidden', "p hidden", 'p="hid"den"', '="hidden"', "p=hid'den"])
def test_an_invalid_option_is_refused_without_its_value(rest: str) -> None:
    with pytest.raises(ValueError, match="after user") as refused:
        parse(f'M required user="x" {rest};')
    assert "hidden" not in str(refused.value)


JAAS_FILE = """
/* What brokers
   have: Client { c.C required; }; */
Server { a.A required user_ann="{}//"; };
// Client { d.D required; };
Client {
    b.B required  // the brokers'
    username="ann"
    password="a };{ '/*b*/";
};
"""


def test_a_section_of_a_file() -> None:
    found = parse(section(JAAS_FILE, "Client"))
    assert found == Login("B", {"username": "ann", "password": "a };{ '/*b*/"})


@pytest.mark.parametrize(
    "text", ["", "Client", "Client {", "KafkaClient { a.B required; };", 'Client { a.B required x="};']
)
def test_a_missing_section_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="there is no section Client"):
        section(text, "Client")
