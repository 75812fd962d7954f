"""Answers that differ from the last one in their figures only.

A broker answers the same request with the same rows in the same order, as long as no replica comes or goes.
So the bytes of most answers, without their figures, are those of the answer before: they have the same form.
Then each figure is where it was, and the answer is not walked.
"""

import numpy as np
import numpy.typing as npt

from backends.load.wire import Ints, Places, records


class Form:
    """The form of an answer, and where the figures of wanted rows are.

    `taken` are positions among the rows of the answer, and `into` where their figures belong in a column.
    """

    def __init__(self, body: bytes | memoryview, places: Places, taken: Ints, into: Ints) -> None:
        self._into = into.astype(np.int32)
        self._length, self._kind = len(body), places.kind
        self._figures, self._others = places.figures, places.others
        is_other = np.ones(len(places.starts), np.bool_)
        is_other[taken] = False
        starts = np.concatenate([places.starts[taken], places.starts[is_other]])
        self._starts: npt.NDArray[np.int32] = starts.astype(np.int32)
        """Of all rows, the wanted ones first."""
        self._hash = self._without_figures(body)

    def fits(self, body: bytes | memoryview) -> bool:
        """Return whether an answer has this form."""
        return len(body) == self._length and self._without_figures(body) == self._hash

    def columns(self, body: bytes | memoryview, size: int, *names: str) -> list[Ints]:
        """Return columns of so many rows from an answer of this form, -1 where it has no row."""
        table = records(body, self._starts[: len(self._into)], self._kind)
        columns = [np.full(size, -1, np.int64) for _ in names]
        for name, column in zip(names, columns, strict=True):
            column[self._into] = table[name]
        return columns

    def _without_figures(self, body: bytes | memoryview) -> int:
        """Return a hash, of 64 bits, of the bytes that are no figures."""
        rest = np.array(np.frombuffer(body, np.uint8))
        first, end = self._figures
        width = end - first
        places = np.ndarray(max(0, len(rest) - width + 1), f"V{width}", rest.data, strides=(1,))
        places[self._starts + first] = np.zeros((), f"V{width}")
        for start, stop in self._others:
            rest[start:stop] = 0
        return hash(rest.tobytes())
