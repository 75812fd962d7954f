"""The file with the names, roles and credentials of clients."""

from pathlib import Path

import pytest

from reassignd.config.errors import CommandError
from reassignd.config.users import MOST_USERS, plain_users, read_grants, read_users, unsecured_tokens
from server.api.shared.roles import Identity, Role
from server.security.tokens import UnsecuredTokens

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
BEARER = "OAuthBearerLoginModule required"


def test_users_are_the_options_of_the_login_module() -> None:
    text = f'{PLAIN} username="broker" password="x" user_anna="one" user_b="t=wo";'
    assert plain_users(text) == {"anna": "one", "b": "t=wo"}
    assert plain_users("") == {}


def test_the_options_of_the_validator_have_kafka_s_names() -> None:
    assert unsecured_tokens("") == unsecured_tokens(f"{BEARER};") == UnsecuredTokens()
    text = (
        f'{BEARER} unsecuredValidatorPrincipalClaimName="name" unsecuredValidatorScopeClaimName="scp"'
        ' unsecuredValidatorRequiredScope="a b" unsecuredValidatorAllowableClockSkewMs="3000";'
    )
    assert unsecured_tokens(text) == UnsecuredTokens("name", "scp", ("a", "b"), 3000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PlainLoginModule", "plain.sasl.jaas.config: expected MODULE required"),
        (f"{BEARER};", "plain.sasl.jaas.config: expected PlainLoginModule, not OAuthBearerLoginModule"),
    ],
)
def test_another_module_is_refused(text: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        plain_users(text)


def test_a_clock_skew_is_a_number() -> None:
    with pytest.raises(CommandError, match="AllowableClockSkewMs is not a number of milliseconds"):
        unsecured_tokens(f'{BEARER} unsecuredValidatorAllowableClockSkewMs="-1";')


def read(folder: Path, text: str) -> dict[str, str]:
    (folder / "users").write_text(text)
    return dict(read_users(folder / "users"))


def test_a_line_is_a_name_and_a_password(tmp_path: Path) -> None:
    text = "# people\n\nanna  pass word \r\n  bob #1\n"
    assert read(tmp_path, text) == {"anna": "pass word", "bob": "#1"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("anna x\nbob\n", r"users:2: expected NAME PASSWORD"),
        ("anna x\nanna y", "users:2: anna is in a line before"),
        ("a b\n" * (MOST_USERS + 1), "has more than 10,000 lines"),
    ],
)
def test_an_invalid_line_is_named_without_its_password(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        read(tmp_path, text)


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        read_users(tmp_path / "none")
    (tmp_path / "bytes").write_bytes(b"\xff")
    with pytest.raises(CommandError, match="it is not UTF-8 text"):
        read_users(tmp_path / "bytes")


def grants_file(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "access"
    path.write_text("\n".join(lines))
    return path


def test_a_line_names_a_client_its_role_and_its_credential(tmp_path: Path) -> None:
    path = grants_file(
        tmp_path,
        "# operators",
        "ann operator token s3cret",
        "",
        "  bob   viewer certificate  CN=bob, O=Example Inc ",
    )
    grants = read_grants(path)
    assert grants.tokens == [(b"s3cret", Identity("User:ann", Role.OPERATOR))]
    assert grants.certificates == {"CN=bob,O=Example Inc": Identity("User:bob", Role.VIEWER)}


@pytest.mark.parametrize(
    ("written", "subject"),
    [
        (r"CN=Doe\, John , O=ops", r"CN=Doe\, John,O=ops"),
        (r"CN=Doe \,John,  O=ops", r"CN=Doe \,John,O=ops"),
        (r"CN=a\\ , O=ops", r"CN=a\\,O=ops"),
        (r"CN=a\\\, b", r"CN=a\\\, b"),
        ("CN=a\\  , O=b\\   ", "CN=a\\ ,O=b\\ "),
    ],
)
def test_blanks_that_belong_to_a_name_are_kept(tmp_path: Path, written: str, subject: str) -> None:
    grants = read_grants(grants_file(tmp_path, f"ann viewer certificate {written}"))
    assert grants.certificates == {subject: Identity("User:ann", Role.VIEWER)}


def test_a_name_may_have_two_tokens(tmp_path: Path) -> None:
    grants = read_grants(grants_file(tmp_path, "ann viewer token one", "ann viewer token two"))
    assert [token for token, _ in grants.tokens] == [b"one", b"two"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ann", "expected NAME ROLE token TOKEN"),
        ("ann viewer password s3cret", "expected NAME ROLE token TOKEN"),
        ("ann admin token s3cret", "unknown role 'admin'; known: viewer, operator"),
        ("ann viewer token two words", "a token is one word"),
        ("-ann viewer token s3cret", "a name has up to 100 letters"),
        ("eve viewer token first", "the token is in a line before"),
        ("zoe viewer token s3cret", "zoe has another role in a line before"),
        ("eve viewer certificate CN=zoe", "the certificate is in a line before"),
    ],
)
def test_an_invalid_line_is_named_without_its_token(tmp_path: Path, line: str, reason: str) -> None:
    path = grants_file(tmp_path, "zoe operator token first", "zoe operator certificate CN=zoe", line)
    with pytest.raises(CommandError, match=f"access:3: {reason}") as caught:
        read_grants(path)
    assert "s3cret" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        read_grants(tmp_path / "none")
    (tmp_path / "access").write_bytes(b"\xff")
    with pytest.raises(CommandError, match="not UTF-8"):
        read_grants(tmp_path / "access")


def test_the_number_of_lines_is_bounded(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="more than 1,000 lines"):
        read_grants(grants_file(tmp_path, *["#"] * 1001))
