"""Stop, start, slow down and damage brokers of the embedded cluster, to test reassignments.

Other backends have no brokers of their own, so these endpoints answer 404 there.
"""

from typing import Annotated

from msgspec import Meta, Struct

from common.json.text import abbreviated
from server.api.shared.call import Call, Endpoint
from server.api.shared.errors import HttpError
from server.api.shared.process import OwnedBrokers

FASTEST = 1000.0
"""The greatest factor for a broker's network speed."""


class EmbeddedLogDir(Struct):
    """A log directory of a broker of the embedded cluster."""

    path: str
    works: bool


class EmbeddedBroker(Struct):
    """A broker of the embedded cluster."""

    id: int
    live: bool
    host: str
    port: int
    rack: str | None
    log_dirs: list[EmbeddedLogDir]


class Slow(Struct, forbid_unknown_fields=True):
    """A factor for the speed of a broker's network."""

    factor: Annotated[
        float,
        Meta(
            ge=0,
            le=FASTEST,
            description="0 stops the network, 1 restores its speed.",
            extra={"expected": f"a number from 0 to {FASTEST:.0f}"},
        ),
    ]


class FailLogDir(Struct, forbid_unknown_fields=True):
    """A log directory to fail."""

    path: Annotated[str, Meta(extra={"expected": "a log directory"})]


class StopOptions(Struct, forbid_unknown_fields=True):
    """Query parameters of stopping a broker."""

    controlled: Annotated[
        bool,
        Meta(
            description="True shuts the broker down in an orderly way; false stops it at once, like a crash."
        ),
    ] = True


NOT_OWNED = (
    "This server does not run its brokers: whoever operates them starts and stops them,"
    " with Kafka's own scripts (bin/kafka-server-start.sh, bin/kafka-server-stop.sh) or as a service."
    " Only brokers of the embedded cluster can be controlled here."
)


async def stop(call: Call, options: StopOptions) -> EmbeddedBroker:
    """Stop a broker. Answers when the broker has stopped."""
    number = _number(call)
    try:
        await _owned(call).stop_broker(number, controlled=options.controlled)
    except (ValueError, OSError) as error:
        raise HttpError(409, str(error)) from error
    return _row(call, number)


async def start(call: Call) -> EmbeddedBroker:
    """Start a broker. Answers when the broker has registered."""
    number = _number(call)
    try:
        await _owned(call).start_broker(number)
    except (ValueError, OSError) as error:
        raise HttpError(409, str(error)) from error
    return _row(call, number)


async def slow(call: Call) -> EmbeddedBroker:
    """Scale a broker's network speed until the next call or the broker's next start."""
    number = _number(call)
    body = await call.body(Slow)
    try:
        _owned(call).slow_broker(number, body.factor)
    except ValueError as error:
        raise HttpError(409, str(error)) from error
    return _row(call, number)


async def fail_log_dir(call: Call) -> EmbeddedBroker:
    """Fail a log directory.

    Its replicas are offline until the broker is started again, with an empty directory.
    """
    number = _number(call)
    path = (await call.body(FailLogDir)).path
    known = _owned(call).log_dirs(number)
    if path not in known:
        raise HttpError(
            404,
            f"Broker {number} has no log directory {abbreviated(path)};"
            f" it has {', '.join(map(abbreviated, known))}.",
        )
    try:
        await _owned(call).fail_log_dir(number, path)
    except ValueError as error:
        raise HttpError(409, str(error)) from error
    return _row(call, number)


def _owned(call: Call) -> OwnedBrokers:
    if call.services.brokers is None:
        raise HttpError(404, NOT_OWNED)
    return call.services.brokers


def _number(call: Call) -> int:
    number, owned = call.number("broker"), _owned(call)
    if number not in owned.brokers:
        raise HttpError(404, f"There is no broker {number}; `reassignd brokers` lists them.")
    return number


def _row(call: Call, number: int) -> EmbeddedBroker:
    registered = call.state.cluster.brokers.get(number)
    return EmbeddedBroker(
        id=number,
        live=number in call.state.cluster.live,
        host="" if registered is None else registered.host,
        port=0 if registered is None else registered.port,
        rack=None if registered is None else registered.rack,
        log_dirs=[EmbeddedLogDir(path, works) for path, works in _owned(call).log_dirs(number).items()],
    )


ENDPOINTS = (
    Endpoint(
        "POST",
        "/v1/brokers/{broker}/stop",
        "Stop a broker of the embedded cluster.",
        stop,
        EmbeddedBroker,
        query=StopOptions,
    ),
    Endpoint("POST", "/v1/brokers/{broker}/start", "Start a stopped broker.", start, EmbeddedBroker),
    Endpoint(
        "POST",
        "/v1/brokers/{broker}/slow",
        "Multiply the network rate of a broker by a factor.",
        slow,
        EmbeddedBroker,
        Slow,
    ),
    Endpoint(
        "POST",
        "/v1/brokers/{broker}/fail-log-dir",
        "Fail a log directory of a broker.",
        fail_log_dir,
        EmbeddedBroker,
        FailLogDir,
    ),
)
