"""Strict readers for the JSON of znodes: whatever is not as expected raises `ZnodeError`.

Each case of invalid data is logged with the znode's path, counted by kind, and otherwise ignored.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from backends.zookeeper.znodes import paths
from common.wording import counted
from controller.model.cluster import Replicas

INT_MAX = 2**31 - 1


class ZnodeError(ValueError):
    """A znode's data is invalid. The message gives the reason, without the path."""


def encode(value: object) -> bytes:
    """Return compact JSON, with keys in the given order."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def named_partitions(value: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return (topic, partition) of each row of `partitions`. Raises ZnodeError."""
    return [(string(row, "topic"), integer(row, "partition")) for row in rows_of(value)]


def rows_of(value: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """Return `partitions`, a list of objects. Raises ZnodeError."""
    rows = value.get("partitions")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ZnodeError("partitions is not a list of objects")
    return rows


def ids(value: object, name: str) -> Replicas:
    """Return a list of broker ids. Raises ZnodeError."""
    if isinstance(value, list):
        for each in value:
            if type(each) is not int or not 0 <= each <= INT_MAX:
                break
        else:
            return tuple(value)
    raise ZnodeError(f"{name} is not a list of broker ids")


def decode_object(data: bytes | None) -> dict[str, Any]:
    """Return a JSON object. Raises ZnodeError."""
    try:
        value = json.loads((data or b"").decode())
    except (ValueError, RecursionError) as error:
        raise ZnodeError("it is not JSON") from error
    if not isinstance(value, dict):
        raise ZnodeError("it is not a JSON object")
    return value


def numbered(name: str) -> int | None:
    """Return the number that is a znode's name, in Kafka's form (no leading zeros).

    The result is None for any other name.
    """
    value = number(name)
    return value if str(value) == name else None


def number(text: str) -> int | None:
    """Return a decimal number from 0 to INT_MAX; None for any other text."""
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(INT_MAX))):
        return None
    return int(text) if int(text) <= INT_MAX else None


def integer(value: Mapping[str, Any], name: str, least: int = 0) -> int:
    """Return a required number of at least `least`. Raises ZnodeError."""
    number = value.get(name)
    if type(number) is not int or not least <= number <= INT_MAX:
        raise ZnodeError(f"{name} is not a number from {least}")
    return number


def string(value: Mapping[str, Any], name: str) -> str:
    """Return a required string that is not empty. Raises ZnodeError."""
    text = value.get(name)
    if not isinstance(text, str) or not text:
        raise ZnodeError(f"{name} is not a string")
    return text


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
