"""The file of users in Jetty's form."""

from pathlib import Path

import pytest

from reassignd.config.errors import SettingError
from reassignd.config.jetty_users import read_jetty_users
from server.cruisecontrol.shared.access import ClientRole, User


def read(path: Path, text: str) -> list[User]:
    file = path / "users"
    file.write_text(text)
    return read_jetty_users(file)


def test_a_user_has_a_password_and_the_highest_of_its_roles(tmp_path: Path) -> None:
    text = "# users\n! more\nrebalance-operator: p:w d, ADMIN\nhealth: x,VIEWER, user\n\n"
    assert read(tmp_path, text) == [
        User("rebalance-operator", b"p:w d", ClientRole.ADMIN),
        User("health", b"x", ClientRole.USER),
    ]


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("ann", "expected NAME: PASSWORD, ROLE"),
        ("ann: secret", "expected NAME: PASSWORD, ROLE"),
        ("ann: , ADMIN", "expected NAME: PASSWORD, ROLE"),
        ("ann: secret, KING", "unknown role 'KING'; known: VIEWER, USER, ADMIN"),
        ("ann: MD5:5ebe2294, ADMIN", "passwords in the form MD5: are not supported"),
        ("ann: OBF:1v, ADMIN", "passwords in the form OBF: are not supported"),
        ("bob: x, USER", "bob is in a line before"),
    ],
)
def test_a_wrong_line_is_named_without_its_password(tmp_path: Path, line: str, part: str) -> None:
    with pytest.raises(SettingError) as caught:
        read(tmp_path, f"bob: y, USER\n{line}\n")
    text = str(caught.value)
    assert part in text
    assert ":2: " in text
    assert "secret" not in text
