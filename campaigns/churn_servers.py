"""The servers of `campaigns.churn`: processes of an embedded cluster, and of its gateway with TLS and SASL.

The embedded cluster has no SASL, so a proxy between the two requires it (PLAIN). The proxy listens on
127.0.0.2, with the cluster's ports on 127.0.0.1. The cluster advertises 127.0.0.2.
"""

import asyncio
import contextlib
import re
import ssl
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from protocol.apis import ApiKey
from protocol.frames import (
    decode_request,
    decode_response,
    encode_response,
    parse_request,
    parse_response,
)
from protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from tools.ports import free_port, free_ports
from tools.processes import ServerProcess
from tools.raw_connection import address

BROKERS = 3
PROXY_HOST = "127.0.0.2"
TLS = Path(__file__).parents[1] / "tests" / "reassignd" / "tls"
TOKENS = {b"\0alice\0secret", b"\0reassignd\0secret"}
"""Valid SASL/PLAIN tokens."""
BOUNDS = {
    "max.connections": "400",
    "http.max.connections": "50",
    "frame.timeout.ms": "5000",
    "tls.handshake.timeout.ms": "3000",
    "connections.max.idle.ms": "10000",
    "connections.max.held.bytes": str(1024 * 1024),
    "jobs.retention.count": "20",
    "embedded.brokers": str(BROKERS),
    "gateway.ports": str(BROKERS),
}
OF_THE_CONTROLLER = {ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA}
"""Requests of the cluster's controller, which connects to the advertised address too, and does not
authenticate."""
SASL_KEYS = [ApiVersion(ApiKey.SASL_HANDSHAKE, 1, 1), ApiVersion(ApiKey.SASL_AUTHENTICATE, 0, 2)]


class Server(NamedTuple):
    """A server of the test.

    `tls` is the context for its clients; `sasl` is whether they must authenticate.
    """

    name: str
    process: ServerProcess
    kafka: list[tuple[str, int]]
    http: tuple[str, int]
    tls: ssl.SSLContext | None
    sasl: bool

    async def connect(self, at: int = 0) -> tuple[StreamReader, StreamWriter]:
        """Open a connection to one of its Kafka ports, with TLS if it requires that."""
        host, port = self.kafka[at % len(self.kafka)]
        return await asyncio.open_connection(host, port, ssl=self.tls)

    def memory(self) -> int:
        """Return the resident memory in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text("ascii")
        return 1024 * int(re.search(r"VmRSS:\s+(\d+)", status)[1])  # type: ignore[index] # Linux has it

    def files(self) -> int:
        """Return the number of open files."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


@asynccontextmanager
async def running_servers(folder: Path) -> AsyncIterator[list[Server]]:
    """Start the two servers."""
    first, relayed = free_ports(BROKERS), free_ports(BROKERS + 1)
    http, gateway_http = free_port(), free_port()
    config = folder / "client.properties"
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="reassignd" password="secret";\n'
    )
    cluster = _served(folder, "embedded", f"127.0.0.1:{first}", http, {"advertised.host": PROXY_HOST})
    gateway = _served(
        folder,
        "upstream",
        f"127.0.0.1:{relayed}",
        gateway_http,
        {
            "upstream.bootstrap.servers": f"{PROXY_HOST}:{first}",
            "upstream.command.config": str(config),
            "listener.tls.certificate.file": str(TLS / "server.pem"),
        },
    )
    tls = ssl.create_default_context(cafile=str(TLS / "ca.pem"))
    tls.check_hostname = False
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(asyncio.to_thread, cluster.stop)
        await asyncio.to_thread(cluster.start)
        for port in range(first, first + BROKERS):
            front = await asyncio.start_server(_Proxy(port).serve, PROXY_HOST, port)
            await stack.enter_async_context(front)
        stack.push_async_callback(asyncio.to_thread, gateway.stop)
        line = await asyncio.to_thread(gateway.start)
        ports = [address(each) for each in re.findall(r"127\.0\.0\.1:\d+", line.partition(", http")[0])]
        plain = [("127.0.0.1", port) for port in range(first, first + BROKERS)]
        yield [
            Server("embedded", cluster, plain, ("127.0.0.1", http), None, sasl=False),
            Server("gateway", gateway, ports, ("127.0.0.1", gateway_http), tls, sasl=True),
        ]


def _served(folder: Path, backend: str, listener: str, http: int, more: dict[str, str]) -> ServerProcess:
    data = folder / backend
    arguments = ["--backend", backend, "--listener", listener, "--http", f"127.0.0.1:{http}"]
    return ServerProcess([*arguments, "--data-dir", str(data)], BOUNDS | more, folder / f"{backend}.log")


class _Proxy:
    """A proxy of one broker: it authenticates a client, then passes all bytes."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Serve a connection until one side closes it."""
        behind: StreamWriter | None = None
        try:
            ahead, behind = await asyncio.open_connection("127.0.0.1", self._port)
            await self._log_in(reader, writer, ahead, behind)
            await asyncio.gather(_pass(reader, behind), _pass(ahead, writer))
        except (OSError, EOFError, ValueError, asyncio.CancelledError):
            pass  # EOFError: a side has closed the connection. CancelledError: the test has ended.
        finally:
            for each in (writer, behind):
                if each is not None:
                    each.close()

    async def _log_in(
        self, reader: StreamReader, writer: StreamWriter, ahead: StreamReader, behind: StreamWriter
    ) -> None:
        while True:
            payload = await _frame(reader)
            frame = parse_request(payload)
            if frame.api_key == ApiKey.API_VERSIONS:
                behind.write(len(payload).to_bytes(4) + payload)
                answer = parse_response(await _frame(ahead), frame.api_key, frame.api_version)
                shown = decode_response(answer, ApiVersionsResponse)
                rows = [*shown.api_keys, *(() if shown.error_code else SASL_KEYS)]
                version = 0 if shown.error_code else None
                writer.write(encode_response(frame, shown._replace(api_keys=rows), version))
            elif frame.api_key == ApiKey.SASL_HANDSHAKE:
                supported = decode_request(frame, SaslHandshakeRequest).mechanism == "PLAIN"
                writer.write(encode_response(frame, SaslHandshakeResponse(0 if supported else 33, ["PLAIN"])))
            elif frame.api_key == ApiKey.SASL_AUTHENTICATE:
                valid = decode_request(frame, SaslAuthenticateRequest).auth_bytes in TOKENS
                writer.write(encode_response(frame, SaslAuthenticateResponse(0 if valid else 58)))
                if valid:
                    return
            elif frame.api_key in OF_THE_CONTROLLER:
                behind.write(len(payload).to_bytes(4) + payload)
                return
            else:
                raise EOFError("a request before the login")


async def _frame(reader: StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4)))


async def _pass(reader: StreamReader, writer: StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    raise EOFError
