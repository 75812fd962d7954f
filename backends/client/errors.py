"""Errors of requests to brokers. The two branches tell whether the request may have had an effect.

BrokerError
├── NotSentError             the request was not sent and has no effect
│   ├── UnreachableError     no connection; retrying, or another broker, may succeed
│   ├── AuthenticationError  credentials or certificates were refused; retrying does not help
│   ├── UnsupportedError     the broker does not serve the API, or in no known version
│   └── UnsendableError      the version cannot express the request, such as a string that is too long
└── InDoubtError             the request was sent and may have had an effect
    ├── RequestTimedOutError
    └── RequestLostError     the connection ended before the response, or the response is invalid
"""


class BrokerError(Exception):
    """Base class. The message is one line that names the broker."""


class NotSentError(BrokerError):
    """The request was not sent."""


class HeldError(Exception):
    """The request was not sent, because it may not be sent now."""


class UnreachableError(NotSentError):
    """The broker could not be connected to, or does not speak Kafka's protocol."""


class AuthenticationError(NotSentError):
    """The client or the broker could not be authenticated."""


class UnsupportedError(NotSentError):
    """The broker does not serve the API or the version."""


class UnsendableError(NotSentError):
    """The version cannot express the request. Retrying does not help, but must not end a background task."""


class InDoubtError(BrokerError):
    """The request may have had an effect. Check before repeating it."""


class RequestTimedOutError(InDoubtError):
    """The broker did not answer in time."""


class RequestLostError(InDoubtError):
    """The connection ended before the response."""
