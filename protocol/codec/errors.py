"""The exceptions of this package.

ProtocolError
├── DecodeError   the peer sent bytes that are no message: close the connection
├── EncodeError   we tried to send what the version cannot carry: our bug
└── ApiError      a request was understood and refused: answer with its code
"""

from common.error_codes import ErrorCode


class ProtocolError(Exception):
    """Base of all errors of this package."""


class DecodeError(ProtocolError):
    """Bytes that are not a message, or an unknown version."""


class EncodeError(ProtocolError):
    """A message that its version cannot carry, or an answer out of turn."""


class ApiError(ProtocolError):
    """A refusal that becomes the response's error code and message."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(code.name if message is None else f"{code.name}: {message}")
        self.code = code
        self.message = message
