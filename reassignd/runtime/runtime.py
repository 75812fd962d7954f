"""The port between `serve` and the modes, and what HTTP serves of one.

An instance publishes its content while the upstream answers, else since when it does not.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from common.address import Address
from server.api.other_instances import OtherInstances
from server.api.shared.call import ApiServices


class HttpContent(NamedTuple):
    """What HTTP serves at the moment."""

    obstacle: str | None
    """Why `/readyz` answers 503; None if requests are served."""
    api: ApiServices | None = None
    """What `/v1` serves; None if no cluster is served here."""
    metrics: Callable[[], bytes] | None = None
    """Returns the text of `/metrics`; None if no cluster is served here."""
    others: OtherInstances | None = None
    """Passes `/v1` on where `api` is None and there is no obstacle; None if there are no other instances."""
    details: Callable[[], str] = str
    """Returns further lines of `/readyz`, each with its end."""


Publish = Callable[[HttpContent], None]


class Runtime(Protocol):
    """One way to run, from the start of the process to its end.

    Created on the event loop. `stop` is called after `start`, also when that has failed; `close` comes last.
    """

    @property
    def kind(self) -> str:
        """What `addresses` lead to, for the line that says that the server is ready."""
        ...

    @property
    def addresses(self) -> Sequence[Address]:
        """Where clients connect, once it has started."""
        ...

    @property
    def records_place(self) -> str:
        """Where the records are kept, for the same line."""
        ...

    async def start(self, publish: Publish) -> None:
        """Return when clients can connect. `publish` gets what HTTP serves, then and at each change.

        Raises CommandError when that is not possible.
        """
        ...

    async def wait_for_failure(self) -> None:
        """Wait until the runtime cannot go on, and raise CommandError. Never returns."""
        ...

    async def stop(self) -> None:
        """Finish requests in progress and stop what `start` has started."""
        ...

    def close(self) -> None:
        """Release what the constructor has opened."""
        ...

    def abort(self) -> None:
        """Release what other processes wait for, such as a session, before the process is killed.

        Called on another thread, possibly while the event loop hangs.
        """
        ...


log = logging.getLogger(__name__)


class Publication:
    """Publishes the content of an instance, with an obstacle while the upstream cannot be reached."""

    def __init__(self, publish: Publish) -> None:
        self._publish = publish
        self._content = HttpContent("the server is starting")
        self._cut_off: str | None = None
        """Why nothing can be relayed."""

    def show(self, content: HttpContent) -> None:
        """Publish the content. Its own obstacle is shown first."""
        self._content = content
        self._publish(content._replace(obstacle=content.obstacle or self._cut_off))

    def cut_off(self, error: str, seconds: float) -> None:
        """Say that the upstream has not answered for so long. The first error remains."""
        if self._cut_off is not None:
            return
        since = datetime.now().astimezone() - timedelta(seconds=seconds)
        self._cut_off = f"the upstream cannot be reached since {since:%H:%M:%S}: {error}"
        log.warning("%s; /readyz answers 503 until it answers", self._cut_off)
        self.show(self._content)

    def answered(self) -> None:
        """Say that the upstream answers again."""
        if self._cut_off is None:
            return
        log.info("the upstream answers again")
        self._cut_off = None
        self.show(self._content)
