"""A certificate that is replaced while its listener is open."""

import asyncio
import shutil
import ssl
from contextlib import suppress
from pathlib import Path

import pytest

from common.tls import client_context, server_context
from reassignd.runtime.listeners.renewed_certificate import CHECK_SECONDS, RenewedCertificate

TLS = Path(__file__).parents[3] / "reassignd" / "tls"


class Site:
    """A listener whose time is a number, and a client that trusts the authority of the test certificates."""

    def __init__(self, folder: Path) -> None:
        self.path, self.now = folder / "tls.pem", 0.0
        self.served: list[dict[str, object]] = []
        """The certificates of the clients whose handshake has succeeded."""
        shutil.copy(TLS / "server.pem", self.path)
        self.context = server_context(self.path, None, TLS / "ca.pem")
        RenewedCertificate(self.context, self.path, None, TLS / "ca.pem", lambda: self.now)

    def _serve(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.served.append(writer.get_extra_info("peercert"))
        writer.close()

    async def name(self, *, sni: bool = True, client: str = "") -> str:
        """Return the common name in the certificate that a new connection gets."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.context)
        trust = client_context((TLS / "ca.pem").read_text(), check_hostname=False)
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


async def test_a_broken_file_keeps_the_last_certificate_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(tmp_path)
    before = await site.name()
    site.path.write_text("no certificate")
    site.now += CHECK_SECONDS
    assert await site.name() == before
    assert f"cannot use the certificate in {site.path}" in caplog.text


async def test_after_the_renewal_clients_still_need_their_certificate(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.context.verify_mode = ssl.CERT_REQUIRED
    shutil.copy(TLS / "ann.pem", site.path)
    site.now += CHECK_SECONDS
    assert await site.name(client="ann.pem") == "ann"
    with suppress(OSError):
        await site.name()  # With TLS 1.3 the client may see the refusal as an end of the connection.
    assert [each["issuer"] for each in site.served] == [((("commonName", "ca"),),)]
