"""What can go wrong between us and a broker that we ask; the two branches tell whether a request can have had any effect.

BrokerError
├── NotSentError             the request was not sent: nothing can have come of it
│   ├── UnreachableError     nobody answers there; a later try, or another broker, may do better
│   ├── AuthenticationError  credentials or certificates were refused: trying again helps nobody
│   └── UnsupportedError     the broker does not serve that API, or not in a version that we know
└── InDoubtError             the request was sent, and may have been carried out
    ├── RequestTimedOutError
    └── RequestLostError     the connection ended first, or what came back makes no sense
"""


class BrokerError(Exception):
    """Base of all; the text is one line that names the broker."""


class NotSentError(BrokerError):
    """The request was not sent."""


class UnreachableError(NotSentError):
    """Nobody answers there, or not in Kafka's protocol."""


class AuthenticationError(NotSentError):
    """One of both sides could not show who it is."""


class UnsupportedError(NotSentError):
    """The broker does not serve what was asked for."""


class InDoubtError(BrokerError):
    """The request may have been carried out: look before it is sent again."""


class RequestTimedOutError(InDoubtError):
    """No answer came in time."""


class RequestLostError(InDoubtError):
    """The connection was lost before the answer came."""
