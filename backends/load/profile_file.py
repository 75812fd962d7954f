"""The profile of the days, in a file of the data directory.

It has 192 bytes for each partition with bytes in and out, 96 without bytes out. It is written once an hour
and when sampling ends, and replaced at once: after a crash it is the last or the one before.
"""

import logging
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from backends.load.columns import Samples
from backends.load.layout import Layout, Topic
from common.durable_file import write_file

Column = npt.NDArray[Any]

log = logging.getLogger(__name__)

NAME = "load.npz"
FORM = 1
"""Version of the file's contents."""
MOST_AGE_MS = 7 * 24 * 3_600_000
"""An older file is not used."""


class ProfileFile:
    """The file; without a directory nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / NAME
        self._failed = False

    def load(self, now_ms: int) -> Samples:
        """Return samples with the profile of the file, or empty ones."""
        if self._path is None or not self._path.exists():
            return Samples(Layout())
        try:
            with np.load(self._path, allow_pickle=False) as file:
                form, saved_ms = file["head"].tolist()
                if form != FORM:
                    log.info("%s was written by another version: load is measured anew", self._path)
                    return Samples(Layout())
                if not 0 <= now_ms - saved_ms <= MOST_AGE_MS:
                    log.info("%s is too old: load is measured anew", self._path)
                    return Samples(Layout())
                lines = bytes(file["topics"]).decode().splitlines()
                topics = []
                for line in lines:
                    name, key, partitions = line.split("\t")
                    topics.append(Topic(name, bytes.fromhex(key), int(partitions)))
                samples = Samples(Layout(topics))
                profile = samples.profile
                profile.bytes_in[:] = file["in"]
                profile.bytes_out = file["out"] if "out" in file.files else None
                if profile.bytes_out is not None and profile.bytes_out.shape != profile.bytes_in.shape:
                    raise ValueError("columns of different sizes")
                return samples
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            log.warning("%s cannot be read: load is measured anew (%s)", self._path, error)
            return Samples(Layout())

    def save(self, samples: Samples, now_ms: int) -> None:
        """Replace the file. A failure is logged once."""
        if self._path is None or not samples.layout.size:
            return
        topics = "\n".join(f"{t.name}\t{t.key.hex()}\t{t.partitions}" for t in samples.layout.topics)
        columns: dict[str, Column] = {
            "head": np.array([FORM, now_ms]),
            "topics": np.frombuffer(topics.encode(), np.uint8),
            "in": samples.profile.bytes_in,
        }
        if samples.profile.bytes_out is not None:
            columns["out"] = samples.profile.bytes_out
        try:
            write_file(self._path, lambda file: np.savez(file, allow_pickle=False, **columns))
            self._failed = False
        except OSError as error:
            if not self._failed:
                log.warning("%s cannot be written: %s", self._path, error)
            self._failed = True
