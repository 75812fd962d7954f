"""Client of the JSON API, for the commands. All failures are CommandError with a message of one line."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from ssl import SSLContext, SSLError
from typing import Any, NamedTuple, Self

import httpx

from common.tls import client_context_from_files
from reassignd.config.errors import CommandError, UnreachableError
from reassignd.config.secret_files import read_token
from reassignd.config.setting_types import UNIX
from reassignd.config.version import __version__

TIMEOUT = httpx.Timeout(600.0, connect=5.0)
"""In seconds. Accepting a plan of a million partitions takes a while."""

JsonObject = dict[str, Any]
"""A response. Its values have the types of the models in `server.api.models`, which the server has
checked."""

SERVICE_UNAVAILABLE = 503

UNKNOWN_RESULT = "; the result is unknown: check `reassignd jobs` and `reassignd status`"
"""Appended to the message if a change was sent and there was no response."""


class Target(NamedTuple):
    """The URL of the server, and the credentials."""

    url: str
    token_file: Path | None = None
    ca_file: Path | None = None
    certificate_file: Path | None = None


class Client:
    """A connection to a server; a context manager that closes it."""

    def __init__(self, target: Target, timeout: httpx.Timeout | None = None) -> None:
        self._url = target.url
        headers = {"user-agent": f"reassignd/{__version__}"}
        if target.token_file is not None:
            headers["authorization"] = f"Bearer {read_token(target.token_file)}"
        path = target.url.removeprefix(UNIX) if target.url.startswith(UNIX) else None
        if path is not None and not Path(path).is_socket():
            raise UnreachableError(
                f"cannot reach {target.url}: the socket does not exist; is the server running?"
            )
        tls = _tls(target) if target.url.startswith("https:") else False
        try:
            self._http = httpx.Client(
                base_url=target.url if path is None else "http://localhost",
                headers=headers,
                timeout=timeout or TIMEOUT,
                transport=httpx.HTTPTransport(uds=path, verify=tls),
            )
        except (httpx.InvalidURL, ValueError) as error:
            raise CommandError(f"--url {target.url}: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str, **query: object) -> JsonObject:
        """Return the JSON object of the response.

        Raises CommandError for an error response, UnreachableError without a response.
        """
        return self.ask("GET", path, **query)

    def post(self, path: str, body: object = None, **query: object) -> JsonObject:
        """Like `get`. `body` is sent as JSON, or unchanged if it is bytes."""
        return self.ask("POST", path, body, **query)

    def ask(self, method: str, path: str, body: object = None, **query: object) -> JsonObject:
        """Like `get`, with any method."""
        content: dict[str, Any] = {"content": body} if isinstance(body, bytes) else {"json": body}
        parameters = {name: _text(value) for name, value in query.items() if value is not None}
        with self._errors("" if method == "GET" else UNKNOWN_RESULT):
            response = self._http.request(
                method, path, params=parameters, **(content if body is not None else {})
            )
            self._check(response)
            with suppress(ValueError):
                answer = response.json()
                if isinstance(answer, dict):
                    return answer
            raise CommandError(f"{self._url} does not respond like reassignd; check --url")

    def stream(self, path: str, **query: object) -> Iterator[bytes]:
        """Yield the bytes of the response as they arrive. Errors as for `get`."""
        parameters = {name: _text(value) for name, value in query.items() if value is not None}
        with self._errors(), self._http.stream("GET", path, params=parameters) as response:
            if response.is_error:
                response.read()
            self._check(response)
            yield from response.iter_bytes()

    def _check(self, response: httpx.Response) -> None:
        if not response.is_error:
            return
        faults: list[str] = []
        try:
            answer = response.json()
            text = str(answer["error"])
            faults += map(str, answer.get("faults", ()))
        except (ValueError, LookupError, TypeError, AttributeError):
            text = f"{self._url} returned {response.status_code} {response.reason_phrase}; check --url"
        if response.status_code == SERVICE_UNAVAILABLE:
            raise UnreachableError(text)
        raise CommandError(text, faults)

    @contextmanager
    def _errors(self, suffix: str = "") -> Iterator[None]:
        """Convert errors of httpx; `suffix` is added if the request may have been executed."""
        try:
            yield
        except httpx.UnsupportedProtocol as error:
            raise CommandError(f"--url {self._url}: expected http://, https:// or unix:PATH") from error
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise UnreachableError(
                f"cannot reach {self._url} ({error}); is `reassignd serve` running?"
                " set its address with --url after the command, REASSIGND_URL or `reassignd context`"
            ) from error
        except httpx.TimeoutException as error:
            raise UnreachableError(f"{self._url} did not respond in time{suffix}") from error
        except httpx.TransportError as error:
            broken = f"the connection to {self._url} was lost ({error})"
            raise UnreachableError(broken + suffix) from error
        except httpx.HTTPError as error:
            raise CommandError(f"--url {self._url}: {error}") from error


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _tls(target: Target) -> SSLContext:
    try:
        return client_context_from_files(target.ca_file, target.certificate_file)
    except (OSError, SSLError) as error:
        raise CommandError(f"cannot use the TLS files: {error}") from error
