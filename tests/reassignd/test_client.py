"""The verbs' client: every trouble is one line."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest

from reassignd import client as client_module
from reassignd.client import UNKNOWN_RESULT, Client, Target
from reassignd.config.errors import CommandError, UnreachableError


@contextmanager
def answering(status: int, body: bytes) -> Iterator[tuple[str, list[str]]]:
    """A server that always answers so: its URL, and the headers that it has seen."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(f"{self.path} {self.headers.get('authorization')}")
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", seen
        server.shutdown()
        thread.join()


@contextmanager
def hanging_up() -> Iterator[str]:
    """The URL of a server that reads one request and closes the connection without an answer."""

    def take_one(listener: socket.socket) -> None:
        with listener.accept()[0] as taken:
            taken.recv(65_536)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=take_one, args=(listener,))
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


@contextmanager
def silent() -> Iterator[str]:
    """A server that never answers: its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def refusal(target: Target, kind: type[CommandError] = CommandError, method: str = "GET") -> str:
    with pytest.raises(kind) as caught, Client(target) as client:
        client.ask(method, "/v1/status")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_response_is_json_and_booleans_are_words() -> None:
    with answering(200, b'{"a": 1}') as (url, seen), Client(Target(url)) as client:
        assert client.get("/v1/jobs", queue=True, limit=5, offset=None) == {"a": 1}
    assert seen == ["/v1/jobs?queue=true&limit=5 None"]


def test_the_token_is_sent(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret\n")
    with answering(200, b"{}") as (url, seen), Client(Target(url, tmp_path / "token")) as client:
        client.get("/")
    assert seen == ["/ Bearer s3cret"]


def test_the_error_of_the_server_is_reported() -> None:
    with answering(404, b'{"error": "There is no job 7"}') as (url, _):
        assert refusal(Target(url)) == "There is no job 7"


def test_a_server_that_is_not_ready_is_unreachable() -> None:
    with answering(503, b'{"error": "records are being loaded"}') as (url, _):
        assert refusal(Target(url), UnreachableError) == "records are being loaded"


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}"])
def test_an_error_of_another_server_is_recognized(body: bytes) -> None:
    with answering(404, body) as (url, _):
        assert refusal(Target(url)) == f"{url} returned 404 Not Found; check --url"


def test_a_response_of_another_server_is_recognized() -> None:
    with answering(200, b"<html>") as (url, _):
        assert refusal(Target(url)) == f"{url} does not respond like reassignd; check --url"


def test_a_stream_yields_chunks_and_reports_errors() -> None:
    with answering(200, b"line\n") as (url, _), Client(Target(url)) as client:
        assert b"".join(client.stream("/v1/snapshot")) == b"line\n"
    with (
        answering(400, b'{"error": "no"}') as (url, _),
        Client(Target(url)) as client,
        pytest.raises(CommandError, match=r"^no$"),
    ):
        list(client.stream("/v1/snapshot"))


def test_an_unreachable_server_is_reported_with_a_remedy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    line = refusal(Target(f"http://127.0.0.1:{port}"), UnreachableError)
    assert line.startswith(f"cannot reach http://127.0.0.1:{port} (")
    assert line.endswith(
        "running? set its address with --url after the command, REASSIGND_URL or `reassignd context`"
    )


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_change_with_a_truncated_response_is_in_doubt(method: str) -> None:
    with hanging_up() as url:
        line = refusal(Target(url), UnreachableError, method)
    assert line.startswith(f"the connection to {url} was lost (")
    assert line.endswith(UNKNOWN_RESULT)


def test_a_change_without_a_response_in_time_is_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "TIMEOUT", httpx.Timeout(30, read=0.01))
    with silent() as url:
        assert (
            refusal(Target(url), UnreachableError, "POST") == f"{url} did not respond in time{UNKNOWN_RESULT}"
        )


def test_a_query_without_a_response_is_not_in_doubt() -> None:
    with hanging_up() as url:
        assert UNKNOWN_RESULT not in refusal(Target(url), UnreachableError)


def test_a_change_that_was_never_sent_is_not_in_doubt() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert UNKNOWN_RESULT not in refusal(Target(f"http://127.0.0.1:{port}"), UnreachableError, "POST")


def test_a_missing_socket_is_reported() -> None:
    line = refusal(Target("unix:/no/such"), UnreachableError)
    assert line == "cannot reach unix:/no/such: the socket does not exist; is the server running?"


@pytest.mark.parametrize("url", ["ftp://x", "nonsense", "http://["])
def test_an_invalid_url_is_reported(url: str) -> None:
    assert url in refusal(Target(url))


def test_an_unreadable_token_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot read the token"):
        Client(Target("http://x", tmp_path / "none"))
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(CommandError, match="must contain one token"):
        Client(Target("http://x", tmp_path / "empty"))


def test_unreadable_tls_files_are_reported() -> None:
    with pytest.raises(CommandError, match="cannot use the TLS files"):
        Client(Target("https://x", ca_file=Path("no.pem")))
