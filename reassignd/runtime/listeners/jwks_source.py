"""The keys of signed tokens: from a file, or from a URL in the background."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from common.clock import Clock, within
from common.wording import missing
from reassignd.config.errors import SettingError
from reassignd.config.watched_file import WatchedFile
from server.security.tokens import Keys, parse_keys

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)

SETTING = "sasl.oauthbearer.jwks.endpoint.url"
FETCH_SECONDS = 10.0
"""For the whole answer: an endpoint that sends a byte now and then would never end."""
LARGEST = 1024 * 1024
REDIRECTS = 5
SOONEST_SECONDS = 10.0
"""Time between two requests for a key that is missing."""

Fetch = Callable[[str], Awaitable[str]]
"""Returns the document of a URL. Raises an exception whose text is the reason."""


class JwksFile:
    """Keys in a file, which is read again when it changes."""

    def __init__(self, path: Path) -> None:
        self._file = WatchedFile(path, _read_file)

    def keys(self) -> Keys:
        """Return the current keys."""
        return self._file.current()

    def missing(self) -> None:
        """Do nothing: the next call of `keys` reads a changed file."""


class JwksUrl:
    """Keys of a URL. `run` reads them again periodically, and earlier when one is missing."""

    def __init__(self, url: str, refresh_seconds: float, clock: Clock, fetch: Fetch) -> None:
        self._url, self._refresh, self._clock, self._fetch = url, refresh_seconds, clock, fetch
        self._missing = asyncio.Event()
        self._keys: Keys = ()

    def keys(self) -> Keys:
        """Return the keys that were read last."""
        return self._keys

    def missing(self) -> None:
        """Have `run` read the keys soon."""
        self._missing.set()

    async def read(self) -> None:
        """Read the keys. A failure is logged; the last keys remain in force, and `run` tries again soon."""
        self._missing.clear()
        try:
            self._keys = parse_keys(await self._fetch(self._url))
        except Exception as error:  # noqa: BLE001 - whatever others send, `run` goes on
            log.error("%s: cannot read %s: %s; trying again", SETTING, self._url, error)
            self._missing.set()

    async def run(self) -> None:
        """Read the keys again and again, until cancelled."""
        while True:
            await self._clock.sleep(min(SOONEST_SECONDS, self._refresh))
            await within(self._clock, max(0.0, self._refresh - SOONEST_SECONDS), self._missing)
            await self.read()


def jwks_source(url: str, refresh_seconds: float, clock: Clock) -> JwksFile | JwksUrl:
    """Return the source of the keys. Raises SettingError."""
    if find_spec("jwt") is None or find_spec("cryptography") is None:
        raise SettingError(missing(SETTING, "further packages", "oauth"))
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise SettingError(f"{SETTING}: {url}: {error}") from error
    if parts.scheme == "file":
        return JwksFile(Path(unquote(parts.path)))
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise SettingError(f"{SETTING}: expected https://..., http://... or file:///..., not {url}")
    return JwksUrl(url, refresh_seconds, clock, fetch)


async def fetch(url: str) -> str:
    """Return the document of the URL.

    Raises OSError, UnicodeDecodeError for what is no text, and errors of httpx.

    PyJWKClient blocks, follows no redirection, and has a limit neither of bytes nor of the whole time.
    """
    try:
        async with asyncio.timeout(FETCH_SECONDS), await asyncio.to_thread(_client) as client:
            return (await _document(client, url)).decode()
    except TimeoutError as error:
        raise OSError(f"there was no complete answer within {FETCH_SECONDS:g} s") from error


def _client() -> "httpx.AsyncClient":
    # The import takes a tenth of a second, at each start of an embedded cluster in tests.
    import httpx

    # Bytes are counted as they arrive, and a small compressed document can become a large one.
    return httpx.AsyncClient(timeout=FETCH_SECONDS, headers={"accept-encoding": "identity"})


async def _document(client: "httpx.AsyncClient", url: str) -> bytes:
    request = client.build_request("GET", url)
    # httpx would read the whole body of a redirection that it follows itself.
    for _ in range(REDIRECTS):
        response = await client.send(request, stream=True)
        if response.next_request is None:
            break
        await response.aclose()
        request = response.next_request
    else:
        raise OSError(f"more than {REDIRECTS} redirections")
    if response.is_error:
        raise OSError(f"status {response.status_code} {response.reason_phrase}")
    body = bytearray()
    async for part in response.aiter_raw():
        body += part
        if len(body) > LARGEST:
            raise OSError(f"a document of more than {LARGEST} bytes")
    return bytes(body)


def _read_file(path: Path) -> Keys:
    try:
        return parse_keys(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SettingError(f"{SETTING}: cannot use {path}: {reason}") from error
