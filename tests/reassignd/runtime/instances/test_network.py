"""The secret and the certificate that the instances share, and their addresses."""

import shutil
from pathlib import Path

import pytest

from common.address import Address
from reassignd.config.errors import CommandError
from reassignd.config.sources import Assignment, resolve
from reassignd.runtime.instances.network import _tls, claimed_address, http_url, read_secret
from reassignd.runtime.listeners import tls
from tests.server.instances.sockets import Echo, linked, listening, security
from tests.server.instances.test_links import request

TLS = Path(__file__).parents[3] / "reassignd" / "tls"


async def test_new_links_use_a_renewed_certificate_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "CHECK_SECONDS", 0)
    file = tmp_path / "peers.pem"
    shutil.copy(TLS / "server.pem", file)
    (server, client), (_, outdated) = _tls(file, None), _tls(TLS / "server.pem", None)
    async with listening(Echo(), security("active")._replace(server_tls=server)) as active:
        async with linked(security("standby")._replace(client_tls=client)) as links:
            assert await links.forward(active, request()) == b"answer to body"
        shutil.copy(TLS / "eve.pem", file)
        async with linked(security("standby")._replace(client_tls=client)) as links:
            assert await links.forward(active, request()) == b"answer to body"
        async with linked(security("standby")._replace(client_tls=outdated)) as links:
            with pytest.raises(OSError, match="certificate verify failed"):
                await links.forward(active, request())


def test_the_secret_is_the_text_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.touch(0o600)
    file.write_text("0123456789abcdef\n")
    assert read_secret(file) == b"0123456789abcdef"


def test_instances_need_a_secret() -> None:
    with pytest.raises(CommandError, match=r"state=topic needs gateway\.peer\.secret\.file"):
        read_secret(None)


def test_a_short_secret_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("short")
    with pytest.raises(CommandError, match="has 5 bytes; at least 16 are needed"):
        read_secret(tmp_path / "secret")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"cannot read the secret in .*: No such file"):
        read_secret(tmp_path / "none")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("10.0.0.7:9301", Address("10.0.0.7", 9301)),
        ("[::1]:9301", Address("::1", 9301)),
        ("gate-1.local:9301", Address("gate-1.local", 9301)),
        ("", None),
        (":9301", None),
        ("host:x", None),
    ],
)
def test_the_address_in_a_claim_is_read(text: str, address: Address | None) -> None:
    assert claimed_address(text) == address


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ({"http.listener": "10.0.0.7:9080"}, "http://10.0.0.7:9080"),
        ({"http.listener": "0.0.0.0:9080", "gateway.peer.host": "gate-1"}, "http://gate-1:9080"),
        ({"http.listener": "0.0.0.0:9080", "gateway.peer.listener": "10.0.0.7:9301"}, "http://10.0.0.7:9080"),
        ({"http.listener": "[::1]:9080", "http.tls.certificate.file": "x.pem"}, "https://[::1]:9080"),
        ({"http.listener": "unix:/run/reassignd.sock"}, ""),
        ({"http.listener": "unix:/run/reassignd.sock", "gateway.peer.url": "http://a:1/"}, "http://a:1"),
        ({"http.listener": "127.0.0.1:0"}, ""),
    ],
)
def test_the_url_for_other_instances_follows_from_the_listener(settings: dict[str, str], url: str) -> None:
    assert http_url(resolve(Assignment(*each, "here") for each in settings.items())) == url
