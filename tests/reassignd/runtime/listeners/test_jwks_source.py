"""Keys of signed tokens from a file and from a URL."""

import asyncio
import gzip
import logging
from contextlib import suppress
from pathlib import Path

import pytest

from common.clock import ManualClock, RealClock
from reassignd.config.errors import CommandError
from reassignd.runtime.listeners import jwks_source as jwks_source_module
from reassignd.runtime.listeners.jwks_source import SOONEST_SECONDS, JwksFile, JwksUrl, fetch, jwks_source
from tests.server.security.tokens import jwks

pytest.importorskip("jwt", reason="the extra oauth is not installed")


class Server:
    """An endpoint that returns the documents one after the other; None is a failure."""

    def __init__(self, *documents: str | None) -> None:
        self.documents = list(documents)

    async def fetch(self, _url: str) -> str:
        document = self.documents.pop(0)
        if document is None:
            raise OSError("unreachable")
        return document


def ids(source: JwksFile | JwksUrl) -> set[str | None]:
    read = source.keys()
    return {key.key_id for key in read}


def test_a_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "keys with space.json"
    path.write_text(jwks("one"))
    source = jwks_source(path.as_uri(), 60, RealClock())
    assert isinstance(source, JwksFile)
    assert ids(source) == {"one"}
    path.write_text(jwks("one", "two"))
    assert ids(source) == {"one", "two"}


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("file:///nowhere/keys", "cannot use /nowhere/keys: No such file or directory"),
        ("keys.json", "expected https://..., http://... or file:///..., not keys.json"),
        ("http:///x", "expected https"),
        ("http://[::1", r"jwks.endpoint.url: http://\[::1: Invalid IPv6 URL"),
    ],
)
def test_a_source_that_cannot_be_used_is_an_error(url: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        jwks_source(url, 60, RealClock())


def test_a_file_without_keys_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("{}")
    with pytest.raises(CommandError, match="it is not a JWKS document"):
        jwks_source((tmp_path / "keys").as_uri(), 60, RealClock())


async def test_a_url_is_read_periodically_and_a_failure_keeps_the_keys(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, server = ManualClock(), Server(jwks("one"), None, jwks("two"))
    source = JwksUrl("https://issuer/keys", 60, clock, server.fetch)
    await source.read()
    assert ids(source) == {"one"}
    await source.read()
    assert ids(source) == {"one"}
    assert "cannot read https://issuer/keys: unreachable" in caplog.text
    await source.read()
    assert ids(source) == {"two"}


async def test_a_missing_key_is_read_before_the_interval_ends(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    clock, server = ManualClock(), Server(jwks("one"), jwks("two"))
    source = JwksUrl("https://issuer/keys", 3600, clock, server.fetch)
    await source.read()
    running = asyncio.create_task(source.run())
    source.missing()
    await clock.advance(SOONEST_SECONDS + 1)
    while ids(source) != {"two"}:
        await asyncio.sleep(0.001)
    running.cancel()


async def fetch_from(*answers: bytes) -> str:
    """Fetch from an endpoint that sends these parts of an answer, a hundredth of a second apart."""
    ends = list[asyncio.Task[None] | None]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends.append(asyncio.current_task())
        await reader.readuntil(b"\r\n\r\n")
        with suppress(OSError):
            for part in answers:
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0.01)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        return await fetch(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/keys")
    finally:
        server.close()
        await asyncio.gather(*filter(None, ends))


async def test_a_document_comes_over_http() -> None:
    assert await fetch_from(b"HTTP/1.1 200 OK\r\n\r\n", jwks("one").encode()) == jwks("one")


async def test_an_answer_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jwks_source_module, "FETCH_SECONDS", 0.3)
    with pytest.raises(OSError, match=r"no complete answer within 0.3 s"):
        await fetch_from(b"HTTP/1.1 200 OK\r\n\r\n", *[b" "] * 200)


async def test_a_large_answer_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jwks_source_module, "LARGEST", 100)
    with pytest.raises(OSError, match="a document of more than 100 bytes"):
        await fetch_from(b"HTTP/1.1 200 OK\r\n\r\n", *[b" " * 60] * 1000)


async def test_a_compressed_answer_is_not_expanded() -> None:
    with pytest.raises(UnicodeDecodeError):
        await fetch_from(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n", gzip.compress(bytes(2**21)))


@pytest.mark.parametrize(
    ("head", "message"),
    [("404 Not Found", "status 404 Not Found"), ("302 Found\r\nlocation: /x", "more than 5 redirections")],
)
async def test_an_answer_without_a_document_is_an_error(head: str, message: str) -> None:
    with pytest.raises(OSError, match=message):
        await fetch_from(f"HTTP/1.1 {head}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode())


async def test_no_failure_ends_the_reading(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(_url: str) -> str:
        raise TypeError("unexpected")

    await JwksUrl("https://issuer/keys", 60, ManualClock(), fail).read()
    assert "cannot read https://issuer/keys: unexpected; trying again" in caplog.text
