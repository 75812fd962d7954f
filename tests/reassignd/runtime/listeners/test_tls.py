"""A certificate that is replaced while its listener is open, and its clients."""

import asyncio
import shutil
import ssl
from contextlib import suppress
from pathlib import Path

import pytest

from common.tls import client_context, server_context
from reassignd.config.errors import CommandError, SettingError
from reassignd.config.settings import Settings
from reassignd.config.sources import Assignment, resolve
from reassignd.runtime.listeners.tls import (
    CHECK_SECONDS,
    PinnedCertificate,
    RenewedCertificate,
    listener_tls,
    warn_of_plain_text,
)

TLS = Path(__file__).parents[3] / "reassignd" / "tls"


class Site:
    """A listener whose time is a number, and a client that trusts the authority of the test certificates."""

    def __init__(self, folder: Path) -> None:
        self.path, self.now = folder / "tls.pem", 0.0
        self.served: list[dict[str, object]] = []
        """The certificates of the clients whose handshake has succeeded."""
        shutil.copy(TLS / "server.pem", self.path)
        self.reads = 0
        self.context = RenewedCertificate(self.path, self._read, lambda: self.now).context

    def _read(self, path: Path) -> ssl.SSLContext:
        self.reads += 1
        try:
            return server_context(path, None, TLS / "ca.pem")
        except OSError as error:
            raise CommandError(f"cannot use {path}") from error

    def _serve(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.served.append(writer.get_extra_info("peercert"))
        writer.close()

    async def name(self, *, sni: bool = True, client: str = "", trust: ssl.SSLContext | None = None) -> str:
        """Return the common name in the certificate that a new connection gets."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.context)
        trust = trust or client_context((TLS / "ca.pem").read_text(), check_hostname=False)
        if client:
            trust.load_cert_chain(TLS / client)
        host = "localhost" if sni else ""
        async with server:
            reader, writer = await asyncio.open_connection(
                *server.sockets[0].getsockname(), ssl=trust, server_hostname=host
            )
            subject = writer.get_extra_info("peercert")["subject"]
            await reader.read()
            writer.close()
        return str(dict(pair for (pair,) in subject)["commonName"])


@pytest.mark.parametrize("sni", [True, False])
async def test_new_connections_get_the_renewed_certificate(tmp_path: Path, *, sni: bool) -> None:
    site = Site(tmp_path)
    before = await site.name(sni=sni)
    shutil.copy(TLS / "ann.pem", site.path)
    assert await site.name(sni=sni) == before
    site.now += CHECK_SECONDS
    assert await site.name(sni=sni) == "ann" != before


@pytest.mark.parametrize("content", ["no certificate", (TLS / "encrypted.pem").read_text()])
async def test_a_broken_file_keeps_the_last_certificate_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str
) -> None:
    site = Site(tmp_path)
    before = await site.name()
    site.path.write_text(content)
    site.now += CHECK_SECONDS
    assert await site.name() == before
    assert f"cannot use {site.path}; the last valid content of the file remains in force" in caplog.text


async def test_after_the_renewal_clients_still_need_their_certificate(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.context.verify_mode = ssl.CERT_REQUIRED
    shutil.copy(TLS / "ann.pem", site.path)
    site.now += CHECK_SECONDS
    assert await site.name(client="ann.pem") == "ann"
    with suppress(OSError):
        await site.name()  # With TLS 1.3 the client may see the refusal as an end of the connection.
    assert [each["issuer"] for each in site.served] == [((("commonName", "ca"),),)]


def test_a_certificate_is_read_once_at_the_start(tmp_path: Path) -> None:
    assert Site(tmp_path).reads == 1


async def test_a_pinned_certificate_may_be_renewed_before_or_after_that_of_the_server(tmp_path: Path) -> None:
    site, pinned_file = Site(tmp_path), tmp_path / "pinned.pem"
    shutil.copy(site.path, pinned_file)
    pinned = PinnedCertificate("gateway.peer.tls", pinned_file)
    before = await site.name(trust=pinned.context())
    shutil.copy(TLS / "eve.pem", pinned_file)
    assert await site.name(trust=pinned.context()) == before
    shutil.copy(TLS / "eve.pem", site.path)
    site.now += CHECK_SECONDS
    assert await site.name(trust=pinned.context()) == "eve" != before


async def test_a_server_with_another_certificate_than_the_pinned_one_is_refused(tmp_path: Path) -> None:
    pinned = PinnedCertificate("gateway.peer.tls", TLS / "eve.pem")
    with pytest.raises(ssl.SSLCertVerificationError):
        await Site(tmp_path).name(trust=pinned.context())


async def test_a_broken_file_keeps_the_pinned_certificate_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site, file = Site(tmp_path), tmp_path / "pinned.pem"
    shutil.copy(site.path, file)
    pinned = PinnedCertificate("gateway.peer.tls", file)
    file.write_text("no certificate")
    assert await site.name(trust=pinned.context())
    assert f"cannot use the gateway.peer.tls files: {file}: " in caplog.text


def test_a_file_that_cannot_be_pinned_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"cannot use the http\.tls files: .*none\.pem: .*No such file"):
        PinnedCertificate("http.tls", tmp_path / "none.pem")


TLS_KEYS = Path(__file__).parents[3] / "reassignd" / "tls"


def settings(**values: str) -> Settings:
    return resolve(Assignment(name.replace("_", "."), value, "test") for name, value in values.items())


def test_without_a_certificate_the_listener_has_no_tls() -> None:
    assert listener_tls(settings()) is None


def test_a_key_needs_a_certificate() -> None:
    with pytest.raises(CommandError, match=r"is set without listener\.tls\.certificate\.file"):
        listener_tls(settings(listener_tls_key_file="x.pem"))


def test_a_missing_certificate_file_is_reported() -> None:
    with pytest.raises(CommandError, match=r"^cannot use the listener.tls files: .*No such file"):
        listener_tls(settings(listener_tls_certificate_file="no.pem"))


def test_a_certificate_with_its_key_gives_a_context() -> None:
    assert listener_tls(settings(listener_tls_certificate_file=str(TLS_KEYS / "server.pem"))) is not None


@pytest.mark.parametrize("backend", ["embedded", "zookeeper"])
def test_a_public_listener_in_plain_text_is_logged(backend: str, caplog: pytest.LogCaptureFixture) -> None:
    warn_of_plain_text(settings(backend=backend))
    assert caplog.text == ""
    warn_of_plain_text(settings(backend=backend, listener="10.0.0.1:9092"))
    assert "the listener 10.0.0.1:9092 is not on loopback and has no TLS" in caplog.text
