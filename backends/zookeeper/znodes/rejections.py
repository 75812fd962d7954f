"""Invalid data in ZooKeeper: each case is logged with the znode's path, counted by kind, and otherwise ignored."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError
from common.counted import counted

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
"""Kinds by path prefix; the first prefix that matches counts."""

MOST_LOGGED = 1_000
"""Paths of which it is known what was logged; those who can write znodes choose the paths."""


class Rejections:
    """Counters and log lines for invalid znodes. One object serves all terms of the process."""

    def __init__(self) -> None:
        self.documents: Counter[str] = Counter()
        """Rejected znodes, by kind."""
        self.entries: Counter[str] = Counter()
        """Rejected rows of plans, by the znode's kind."""
        self._logged: dict[str, int] = {}
        """By path: the mzxid of the data that was logged last."""

    def reject(self, path: str, reason: str, *, mzxid: int = 0, level: int = logging.ERROR) -> None:
        """Log and count a rejected znode; with a mzxid, once for each version of its data."""
        if mzxid and self._logged.get(path) == mzxid:
            return
        if mzxid:
            self._logged[path] = mzxid
            if len(self._logged) > MOST_LOGGED:
                del self._logged[next(iter(self._logged))]
        self.documents[kind_of(path)] += 1
        log.log(level, "%s %s", path, reason)

    def reject_rows(self, path: str, reasons: Iterable[str]) -> None:
        """Count rejected rows of a plan, and log the first ROWS_LOGGED; each reason names its row."""
        number = 0
        for number, reason in enumerate(reasons, 1):
            if number <= ROWS_LOGGED:
                log.error("%s: %s", path, reason)
        if number > ROWS_LOGGED:
            log.error("%s: rejected %s", path, counted(number - ROWS_LOGGED, "more row"))
        self.entries[kind_of(path)] += number

    @contextmanager
    def skip_invalid(self, path: str, mzxid: int = 0) -> Iterator[None]:
        """Reject the znode when the block raises ZnodeError, and suppress the error."""
        try:
            yield
        except ZnodeError as error:
            self.reject(path, f"is ignored: {error}", mzxid=mzxid)


def kind_of(path: str) -> str:
    """Return the kind of a znode, a label of metrics."""
    if path.startswith(paths.TOPICS) and path.endswith("/state"):
        return "partition_state"
    return next((kind for prefix, kind in KINDS.items() if path.startswith(prefix)), "other")
