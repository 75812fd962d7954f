"""What HTTP serves of an instance: its content while the upstream answers, else since when it does not."""

import logging
from datetime import datetime, timedelta

from reassignd.runtime.runtime import HttpContent, Publish

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
