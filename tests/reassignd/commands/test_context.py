"""Contexts: the file, and which server a command uses."""

import json
from pathlib import Path
from typing import Any

import pytest

from reassignd import client
from reassignd.cli import main
from reassignd.client import Target
from reassignd.config.contexts import MOST, Context, Contexts, contexts_file, read_contexts, write_contexts
from reassignd.config.errors import CommandError
from tests.reassignd.commands.stub_client import StubClient

PROD = Context("https://prod:9080", "/secrets/token", "/secrets/ca.pem")


class Recorder(StubClient):
    """Records the server that it is created for."""

    def __call__(self, target: object) -> "Recorder":
        self.target = target
        return self

    def get(self, *_: object, **__: object) -> Any:
        return {"total": 0, "jobs": []}


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Recorder:
    """A recorder, and a user who uses the context prod."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("REASSIGND_URL", "REASSIGND_CONTEXT", "REASSIGND_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    write_contexts(Contexts({"prod": PROD, "test": Context("http://test:1")}, "prod"))
    recorder = Recorder()
    monkeypatch.setattr(client, "Client", recorder)
    return recorder


def test_the_context_in_use_has_address_and_credentials(recorder: Recorder) -> None:
    assert main(["jobs"]) == 0
    assert recorder.target == Target(PROD.url, Path("/secrets/token"), Path("/secrets/ca.pem"))
    assert main(["jobs", "--token-file", "/mine"]) == 0
    assert recorder.target == Target(PROD.url, Path("/mine"), Path("/secrets/ca.pem"))


def test_options_and_the_environment_take_precedence_and_get_no_token(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["jobs", "--context", "test"]) == 0
    assert recorder.target == Target("http://test:1")
    assert main(["jobs", "--url", "http://other"]) == 0
    assert recorder.target == Target("http://other")
    monkeypatch.setenv("REASSIGND_URL", "http://from-env")
    assert main(["jobs"]) == 0
    assert recorder.target == Target("http://from-env")
    assert main(["jobs", "--context", "test"]) == 0
    assert recorder.target == Target("http://test:1")


def test_a_context_that_does_not_exist_is_named(
    recorder: Recorder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["jobs", "--context", "nope"]) == 1
    assert main(["context", "use", "nope"]) == 1
    assert main(["jobs", "--context", "test", "--url", "http://x"]) == 2
    said = "reassignd: there is no context 'nope'; `reassignd context list`: prod, test\n"
    assert capsys.readouterr().err == said * 2 + "reassignd: --url and --context cannot be used together\n"
    assert not hasattr(recorder, "target")


@pytest.mark.usefixtures("recorder")
def test_contexts_are_added_changed_used_and_removed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["context", "set", "new", "--url", "unix:/run/r.sock", "--token-file", "token"]) == 0
    assert main(["context", "set", "new", "--ca-file", "/ca.pem"]) == 0
    assert main(["context", "use", "new"]) == 0
    assert main(["context", "remove", "prod"]) == 0
    expected = Context("unix:/run/r.sock", str(Path("token").absolute()), "/ca.pem")
    assert read_contexts() == Contexts({"new": expected, "test": Context("http://test:1")}, "new")
    capsys.readouterr()
    assert main(["context", "list"]) == 0
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [
        ["USE", "NAME"],
        ["*", "new"],
        ["test", "http://test:1"],
    ]


@pytest.mark.usefixtures("recorder")
def test_only_the_user_can_read_the_file() -> None:
    assert contexts_file().stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("recorder")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a/b", "--url", "http://x"], "'a/b' is not a name of a context"),
        (["a", "--url", "prod:9080"], "--url 'prod:9080': expected http://, https:// or unix:PATH"),
        (["a"], "a new context needs --url"),
    ],
)
def test_wrong_contexts_are_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["context", "set", *arguments]) != 0
    assert said in capsys.readouterr().err
    assert sorted(read_contexts().by_name) == ["prod", "test"]


@pytest.mark.usefixtures("recorder")
def test_the_number_of_contexts_is_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    write_contexts(Contexts({f"c{number}": PROD for number in range(MOST)}))
    assert main(["context", "set", "more", "--url", "http://x"]) == 1
    assert "there are 100 contexts; remove one" in capsys.readouterr().err


@pytest.mark.usefixtures("recorder")
@pytest.mark.parametrize("text", ["", "[]", '{"contexts": {"a": 5}}', '{"contexts": {"a": {"URL": "x"}}}'])
def test_a_broken_file_is_named(text: str) -> None:
    contexts_file().write_text(text)
    with pytest.raises(CommandError, match=r"contexts\.json is not a file of contexts"):
        read_contexts()


@pytest.mark.usefixtures("recorder")
def test_a_current_context_that_is_gone_is_ignored() -> None:
    contexts_file().write_text(json.dumps({"current": "x", "contexts": {}}))
    assert read_contexts() == Contexts()
