"""`serve --check-config`."""

from pathlib import Path

import pytest

from reassignd.check_config import described
from reassignd.cli import main
from reassignd.config.sources import Assignment


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REASSIGND_LOG_LEVEL", raising=False)


def test_valid_settings_are_shown_with_their_sources(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "r.properties"
    file.write_text("log.level=WARN\nreassignment.max.concurrent.partition.movements=20\n")
    monkeypatch.setenv("REASSIGND_LOG_LEVEL", "DEBUG")
    assert main(["serve", "--config", str(file), "--brokers", "3", "--check-config"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "embedded.brokers=3  (--brokers)",
        "log.level=DEBUG  (environment variable REASSIGND_LOG_LEVEL)",
        (
            f"reassignment.max.concurrent.partition.movements=20  ({file}:2, until it is changed while the"
            " server runs)"
        ),
        "the settings are valid; no connection was tried",
    ]


def test_an_option_wins_over_a_variable(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REASSIGND_EMBEDDED_BROKERS", "5")
    assert main(["serve", "--brokers", "3", "--check-config"]) == 0
    assert "embedded.brokers=3  (--brokers)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("setting", "complaint", "code"),
    [
        ("log.level=LOUD", "'LOUD' is not valid for log.level", 2),
        ("http.listener=0.0.0.0:9080", "http.listener is 0.0.0.0:9080, which others can reach", 2),
        ("listener.tls.certificate.file=/nowhere.pem", "cannot use the listener.tls files", 2),
        ("http.token.file=/nowhere", "cannot read the token in /nowhere: No such file", 2),
        ("prometheus.credentials.file=/nowhere", "cannot read /nowhere: No such file", 2),
        ("upstream.command.config=/nowhere.properties", "/nowhere.properties", 2),
        ("listener.security.protocol=SSL", "needs listener.tls.certificate.file", 2),
        ("super.users=User:admin", "has no effect without authorizer.class.name", 2),
    ],
)
def test_what_is_wrong_is_named_in_one_line(
    setting: str, complaint: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--override", setting, "--check-config"]) == code
    err = capsys.readouterr().err
    assert complaint in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("cruisecontrol.users.file=/nowhere", "cannot read /nowhere: No such file"),
        ("cruisecontrol.capacity.file=/nowhere", "cruisecontrol.capacity.file: /nowhere: "),
        ("cruisecontrol.ui.directory=/nowhere", "there is no /nowhere/index.html"),
    ],
)
def test_the_files_of_cruise_controls_api_are_checked_while_it_is_on(
    setting: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for api, code in (("off", 0), ("on", 2)):
        overrides = [f"--override=cruisecontrol.api={api}", f"--override={setting}"]
        assert main(["serve", *overrides, "--check-config"]) == code
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        (["backend=upstream", "upstream.bootstrap.servers=127.0.0.1:1"], 2),
        (["backend=upstream", "upstream.bootstrap.servers=127.0.0.1:1", "http.listener=unix:/tmp/r.sock"], 0),
        (["http.token.file={file}"], 2),
        (["http.token.file={file}", "cruisecontrol.users.file={file}"], 0),
        ([], 0),
    ],
)
def test_two_step_verification_needs_more_than_one_client(
    settings: list[str], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    users = tmp_path / "users"
    users.write_text("ann:secret-of-ann-0123456789,ADMIN\n")
    users.chmod(0o600)
    given = ["cruisecontrol.api=on", "cruisecontrol.two.step.verification=on", *settings]
    overrides = [f"--override={each.format(file=users)}" for each in given]
    assert main(["serve", *overrides, "--check-config"]) == code
    assert ("needs clients with names of their own" in capsys.readouterr().err) == bool(code)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (
            ["backend=zookeeper", "zookeeper.connect=z:2181", "zookeeper.listener.security.protocol=SSL"],
            "which needs",
        ),
        (
            ["backend=upstream", "upstream.bootstrap.servers=k:9092", "state=topic"],
            "gateway.peer.secret.file",
        ),
    ],
)
def test_the_listeners_of_all_backends_are_checked(
    settings: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", *(f"--override={each}" for each in settings), "--check-config"]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "text", "complaint"),
    [
        ("http.token.file", "", "must contain one token"),
        ("http.access.file", "alice king token abc\n", ":1: unknown role 'king'"),
        ("http.access.file", "#\n" * 1_001, "has more than 1,000 lines"),
    ],
)
def test_a_file_with_a_wrong_content_ends_with_code_2(
    key: str, text: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text(text)
    for further in ([], ["--check-config"]):
        assert main(["serve", "--data-dir", str(tmp_path), "--override", f"{key}={file}", *further]) == 2
        assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("plain.sasl.jaas.config", 'PlainLoginModule required user_admin="hunter2";', "(hidden)"),
        ("oauthbearer.sasl.jaas.config", 'OAuthBearerLoginModule required x="hunter2";', "(hidden)"),
        (
            "planner.spark.master",
            "sc://spark:15002/;token=hunter2;user_id=a",
            "sc://spark:15002/;token=(hidden);",
        ),
        ("gateway.peer.url", "https://ann:hunter2@lb:1/x@y", "https://(hidden)@lb:1/x@y"),
    ],
)
def test_a_secret_is_not_shown(key: str, value: str, shown: str) -> None:
    (line,) = described([Assignment(key, value, "--override")])
    assert line.startswith(f"{key}={shown}")
    assert "hunter2" not in line
