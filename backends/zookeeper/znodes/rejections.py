"""What makes no sense in ZooKeeper: one line in the log that names the znode, a count by its kind, and nothing else disturbed."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError

log = logging.getLogger(__name__)

ROWS_LOGGED = 20

KINDS = {
    paths.QUEUE: "reassign_partitions_queue",
    paths.REASSIGNMENTS: "reassignments",
    paths.REASSIGN: "reassign_partitions",
    paths.PREFERRED_ELECTION: "preferred_replica_election",
    paths.BROKERS: "broker",
    paths.TOPICS: "topic",
    paths.CONFIG_CHANGES: "config_change",
    "/config/": "config",
    paths.ISR_CHANGES: "isr_change_notification",
    paths.LOG_DIR_EVENTS: "log_dir_event_notification",
    paths.CONTROLLER: "controller",
    paths.OURS: "reassignd",
}
"""By how the path begins; the first counts."""


class Rejections:
    """Lives as long as the process, over all terms."""

    def __init__(self) -> None:
        self.documents: Counter[str] = Counter()
        """Znodes whose content was refused as a whole, by kind."""
        self.entries: Counter[str] = Counter()
        """Rows of plans that were refused, by the kind of the znode."""
        self._told: dict[str, int] = {}
        """By path: the mzxid of what was told of last."""

    def reject(self, path: str, what: str, *, mzxid: int = 0, level: int = logging.ERROR) -> None:
        """Tell of it, once for each content that has a mzxid."""
        if mzxid and self._told.get(path) == mzxid:
            return
        if mzxid:
            self._told[path] = mzxid
        self.documents[kind_of(path)] += 1
        log.log(level, "%s %s", path, what)

    def reject_rows(self, path: str, refused: Iterable[str]) -> None:
        """Tell of rows of a plan, of the first ones at least; each says what is wrong with it."""
        number = 0
        for number, what in enumerate(refused, 1):
            if number <= ROWS_LOGGED:
                log.error("%s: %s", path, what)
        if number > ROWS_LOGGED:
            log.error("%s: %d more are refused", path, number - ROWS_LOGGED)
        self.entries[kind_of(path)] += number

    @contextmanager
    def skip_invalid(self, path: str, mzxid: int = 0) -> Iterator[None]:
        """A ZnodeError ends the block, and goes no further."""
        try:
            yield
        except ZnodeError as error:
            self.reject(path, f"is passed over: {error}", mzxid=mzxid)


def kind_of(path: str) -> str:
    """The label under which it is counted."""
    if path.startswith(paths.TOPICS) and path.endswith("/state"):
        return "partition_state"
    return next((kind for start, kind in KINDS.items() if path.startswith(start)), "other")
