"""`Outcome`: how one requested thing ended, with Kafka's error code."""

from typing import NamedTuple

from common.error_codes import ErrorCode


class Outcome(NamedTuple):
    """The result of one requested item.

    A refusal is a value, not an exception: other items of the request go on.
    """

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None

    @property
    def ok(self) -> bool:
        """The item was accepted."""
        return self.error is ErrorCode.NONE

    @property
    def text(self) -> str:
        """The message, or the name of the error code."""
        return self.message or self.error.name


DONE = Outcome()
