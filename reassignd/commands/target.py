"""The server that a command uses: that of its options, of the environment, of a context, or the default."""

from pathlib import Path
from typing import TYPE_CHECKING

from reassignd.config.contexts import Context, read_contexts

if TYPE_CHECKING:
    from reassignd.client import Target

DEFAULT_URL = "http://127.0.0.1:9080"


def target_of(
    url: str | None,
    context_name: str | None = None,
    token_file: Path | None = None,
    ca_file: Path | None = None,
    certificate_file: Path | None = None,
) -> "Target":
    """Return the server and the credentials. Raises CommandError.

    With a URL no context is used, so that its token is sent to no other server.
    """
    from reassignd.client import Target

    context = Context(url or DEFAULT_URL)
    if url is None:
        known = read_contexts()
        name = context_name or known.current
        context = context if name is None else known.named(name)
    return Target(
        context.url,
        token_file or _path(context.token_file),
        ca_file or _path(context.ca_file),
        certificate_file or _path(context.certificate_file),
    )


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
