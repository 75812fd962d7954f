"""The file with the names, roles and credentials of clients."""

from pathlib import Path

import pytest

from reassignd.config.access_file import read_grants
from reassignd.errors import CommandError
from server.api.shared.roles import Identity, Role


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
