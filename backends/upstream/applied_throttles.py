"""What we set of the upstream's throttles, written down before it is set and until it is taken off again.

A file of its own in the data directory: after a crash everything in it, and nothing else, is ours to take off.
"""

import json
from pathlib import Path
from typing import Any

from backends.datadir import StoreError, write_whole

FILE = "throttles.json"


class AppliedThrottles:
    """Entries (`partition:broker`) by topic and config; by broker and config the rates, one of which is set.

    Changed by its owner, then written. Raises StoreError when the file makes no sense.
    """

    def __init__(self, directory: Path | None) -> None:
        self._path = None if directory is None else directory / FILE
        kept = self._read()
        self.topics: dict[str, dict[str, list[str]]] = kept["topics"]
        self.brokers: dict[str, dict[str, list[str]]] = kept["brokers"]

    @property
    def empty(self) -> bool:
        """Nothing upstream is ours."""
        return not self.topics and not self.brokers

    def text(self) -> str:
        """What is to be written."""
        return json.dumps({"topics": self.topics, "brokers": self.brokers}, indent=1)

    def write(self, text: str) -> None:
        """Make it durable. Blocks for a disk's flush."""
        if self._path is not None:
            write_whole(self._path, text)

    def _read(self) -> dict[str, Any]:
        if self._path is None or not self._path.exists():
            return {"topics": {}, "brokers": {}}
        try:
            kept = json.loads(self._path.read_text("utf-8"))
            _check(kept)
        except (OSError, ValueError) as error:
            raise StoreError(
                f"{self._path} cannot be read ({error}). It says which throttles were set on the upstream: take off "
                "what is left of them with kafka-configs, then remove the file"
            ) from None
        return dict(kept)


def _check(kept: Any) -> None:
    """Raises ValueError when it is not two tables of tables of lists of strings."""
    brokers = _table(kept).get("brokers")
    for broker in _table(brokers):
        int(broker)
    for table in (brokers, kept.get("topics")):
        for configs in _table(table).values():
            for values in _table(configs).values():
                if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
                    raise ValueError("it is not a list of throttles")


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("it is not a list of throttles")
    return value
