"""What brokers answer, as columns of the rows that each of them leads."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from backends.load.forms import Form
from backends.load.layout import Layout
from backends.load.leaders import Leaders
from backends.load.problems import Problems, refusal
from backends.load.wire import Ints, Refused, Walked, read_log_dirs, read_offsets
from common.error_codes import ErrorCode, error_name
from protocol.frames import ResponseFrame

Held = npt.NDArray[np.int32]

SIZES = -1
"""In place of the number of a chunk: the answer with the sizes of logs."""
UNKNOWN = "their bytes in are unknown"


class _Last(NamedTuple):
    """The form of the last answer."""

    led: Ints
    """What the broker led then."""
    form: Form
    doubled: bool = False
    """Whether one replica is in two directories."""


class Answers:
    """The leaders and replicas, and the forms of the last answers."""

    def __init__(self, problems: Problems) -> None:
        self.leaders = Leaders()
        self.replicas: dict[int, Held] = {}
        """The rows of the replicas that each broker has reported."""
        self.walked = 0
        """Answers that had another form than the last ones."""
        self._problems = problems
        self._last: dict[tuple[int, int], _Last] = {}
        """By broker and chunk. The first and the last offsets of a chunk have one form."""

    def update(self, layout: Layout, leaders: npt.NDArray[np.int32]) -> None:
        """Take other topics and leaders."""
        if (old := self.leaders.layout) is not layout:
            rows = layout.taken_from(old)
            self.replicas = {broker: _renumbered(held, rows, old) for broker, held in self.replicas.items()}
            # Also of brokers that lead nothing: a topic that is new here may have been in their last answers.
            self._last.clear()
        self.leaders.update(layout, leaders)

    def forget(self, brokers: Collection[int]) -> None:
        """Forget what brokers have answered that are no more."""
        self.replicas = {broker: held for broker, held in self.replicas.items() if broker not in brokers}
        self._last = {place: last for place, last in self._last.items() if place[0] not in brokers}

    def sizes(self, broker: int, frame: ResponseFrame) -> Ints | Refused:
        """Return the size of each row that a broker leads, -1 where it is not known. Raises DecodeError."""
        led = self.leaders.led(broker)
        last = self._fitting(broker, SIZES, frame)
        if last is None:
            found = read_log_dirs(bytes(frame.body), frame.api_version, self.leaders.layout.numbers)
            if isinstance(found, Refused):
                return found
            last = self._last[broker, SIZES] = self._form_of_sizes(broker, frame, found)
        [sizes] = last.form.columns(frame.body, len(led), "size")
        if last.doubled:
            self._problems.add("one replica is in two log directories: its bytes in are unknown", broker)
        elif (sizes < 0).any():
            self._problems.add(f"it tells no sizes of some logs that it leads: {UNKNOWN}", broker)
        return sizes

    def offsets(self, broker: int, chunk: int, frame: ResponseFrame) -> Ints:
        """Return the offset of each row of a chunk, -1 where it is not known. Raises DecodeError."""
        asked = self.leaders.chunk(broker, chunk)
        last = self._fitting(broker, chunk, frame)
        if last is None:
            found = read_offsets(bytes(frame.body), frame.api_version, self.leaders.layout.numbers)
            last = self._last[broker, chunk] = self._form_of_offsets(broker, asked, frame, found)
        offsets, errors = last.form.columns(frame.body, len(asked), "offset", "error")
        self._note(broker, errors)
        return np.where(errors == 0, offsets, -1)

    def _fitting(self, broker: int, chunk: int, frame: ResponseFrame) -> _Last | None:
        last = self._last.get((broker, chunk))
        if last is not None and last.led is self.leaders.led(broker) and last.form.fits(frame.body):
            return last
        self.walked += 1
        return None

    def _form_of_sizes(self, broker: int, frame: ResponseFrame, found: Walked) -> _Last:
        rows, known = self.leaders.layout.rows(found.rows.topics, found.rows.partitions)
        unique, first, count = np.unique(rows, return_index=True, return_counts=True)
        self.replicas[broker] = unique.astype(np.int32)
        once, led = count == 1, self.leaders.led(broker)
        _, into, at = np.intersect1d(led, unique[once], assume_unique=True, return_indices=True)
        form = Form(frame.body, found.places, known[first[once][at]], into)
        return _Last(led, form, not once.all())

    def _form_of_offsets(self, broker: int, asked: Ints, frame: ResponseFrame, found: Walked) -> _Last:
        rows, known = self.leaders.layout.rows(found.rows.topics, found.rows.partitions)
        unique, first = np.unique(rows, return_index=True)
        _, into, at = np.intersect1d(asked, unique, assume_unique=True, return_indices=True)
        return _Last(self.leaders.led(broker), Form(frame.body, found.places, known[first[at]], into))

    def _note(self, broker: int, errors: Ints) -> None:
        for code in np.unique(errors[errors != 0]).tolist():
            if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                line = refusal("ListOffsets of some topics", code, "Describe on all topics", "their bytes in")
            elif code < 0:
                line = f"it tells no offsets of some partitions that it leads: {UNKNOWN}"
            else:
                line = f"ListOffsets of some partitions: {error_name(code)}: {UNKNOWN}"
            self._problems.add(line, broker)


def _renumbered(held: Held, rows: Ints, old: Layout) -> Held:
    """Return rows of an old layout in the new one; `rows` has the old row of each new one."""
    new = np.full(old.size, -1, np.int32)
    kept = np.flatnonzero(rows >= 0)
    new[rows[kept]] = kept
    moved: Held = new[held]
    return moved[moved >= 0]
