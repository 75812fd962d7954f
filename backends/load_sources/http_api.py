"""The HTTP API of Prometheus: instant queries, which return a vector."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import DecodeError, Struct, field
from msgspec.json import Decoder

from common.json.models import decode_foreign

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx

PATH = "/api/v1/query"
SECONDS = 30.0
"""For the whole answer."""
LARGEST = 128 * 1024 * 1024
"""Bytes of an answer: half a million series."""
LONGEST_ERROR = 200


class Series(NamedTuple):
    """One figure."""

    labels: dict[str, str]
    value: float


class Vector(NamedTuple):
    """What a query has found."""

    series: Sequence[Series]
    at: float
    """Prometheus's time of the query, in seconds since 1970; 0 for an empty vector."""


class _Sample(Struct):
    metric: dict[str, str]
    value: tuple[float, str]


class _Data(Struct):
    kind: str = field(name="resultType")
    result: list[_Sample]


class _Answer(Struct):
    status: str
    data: _Data | None = None
    error: str = ""


_decoder = Decoder(_Answer)


class Server(NamedTuple):
    """A Prometheus."""

    url: str
    authorization: str = ""
    """The header with a login; empty without one."""


Ask = Callable[[Server, str], Awaitable[bytes]]
"""Returns the answer of a Prometheus to a query. Raises OSError."""


def read_vector(body: bytes) -> Vector:
    """Return the vector of an answer. Raises OSError for anything else."""
    try:
        answer = decode_foreign(body, _decoder)
    except DecodeError as error:
        raise OSError(f"its answer is not that of a Prometheus: {error}") from error
    if answer.status != "success" or answer.data is None:
        raise OSError(f"it refuses the query: {answer.error[:LONGEST_ERROR]}")
    if answer.data.kind != "vector":
        raise OSError(f"its answer is a {answer.data.kind} in place of a vector")
    series = [Series(each.metric, _number(each.value[1])) for each in answer.data.result]
    at = max((each.value[0] for each in answer.data.result), default=0.0)
    return Vector(series, at)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise OSError(f"its answer has {text[:20]!r} in place of a number") from error


async def ask(server: Server, query: str) -> bytes:
    """Implements `Ask`."""
    # The import takes a tenth of a second.
    client = await asyncio.to_thread(_client)
    try:
        async with asyncio.timeout(SECONDS), client:
            return await _body(client, server, query)
    except TimeoutError as error:
        raise OSError(f"there was no complete answer within {SECONDS:g} s") from error


def _client() -> "httpx.AsyncClient":
    import httpx

    return httpx.AsyncClient(verify=_certificates(), timeout=SECONDS)


@cache
def _certificates() -> "SSLContext":
    """Return what is trusted. To read it takes 40 ms of CPU, so a client for each query would be dear."""
    import httpx

    return httpx.create_ssl_context()


async def _body(client: "httpx.AsyncClient", server: Server, query: str) -> bytes:
    import httpx

    url, found = server.url.rstrip("/") + PATH, bytearray()
    login = {"Authorization": server.authorization} if server.authorization else None
    try:
        async with client.stream("GET", url, params={"query": query}, headers=login) as response:
            async for part in response.aiter_bytes():
                found += part
                if len(found) > LARGEST:
                    raise OSError(f"its answer has more than {LARGEST:,} bytes")
    # Not all hosts of a valid URL are valid names: the last two are about these.
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        raise OSError(str(error) or type(error).__name__) from error
    if response.status_code in {401, 403}:
        raise OSError(
            f"it answers with HTTP {response.status_code}: the login in the file of"
            f" prometheus.credentials.file is {'refused' if login else 'missing'}"
        )
    # A refused query is a document too, with the reason.
    if response.status_code not in {200, 400, 422, 503}:
        raise OSError(f"it answers with HTTP {response.status_code}")
    return bytes(found)
