"""What we set of the upstream's throttles, written down before it is set and until it is taken off again.

A file of its own in the data directory: after a crash everything in it, and nothing else, is ours to take off.
"""

import json
import os
from pathlib import Path

FILE = "throttles.json"


class Ledger:
    """Entries (`partition:broker`) by topic and config, and rates by broker and config. Changed by its owner, then `save`d."""

    def __init__(self, directory: Path | None) -> None:
        self._path = None if directory is None else directory / FILE
        kept = (
            json.loads(self._path.read_text("utf-8"))
            if self._path is not None and self._path.exists()
            else {}
        )
        self.topics: dict[str, dict[str, list[str]]] = kept.get("topics", {})
        self.brokers: dict[str, dict[str, str]] = kept.get("brokers", {})

    @property
    def empty(self) -> bool:
        """Nothing upstream is ours."""
        return not self.topics and not self.brokers

    def save(self) -> None:
        """Make it durable. Blocks for a disk's flush."""
        if self._path is None:
            return
        text = json.dumps({"topics": self.topics, "brokers": self.brokers}, indent=1)
        draft = self._path.with_suffix(".new")
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
