"""`/v1/brokers`: stop, start, slow and break brokers of the embedded cluster, to see what becomes of a reassignment.

Brokers that reassignd does not own are out of its hands: with another backend there are no such endpoints to speak of.
"""

from typing import Any

from common.json_text import shown
from server.api.call import Call, fields
from server.api.errors import HttpError
from server.api.table import Endpoint, Parameter
from server.ports import OwnedBrokers

FASTEST = 1000.0


async def brokers(call: Call) -> dict[str, Any]:
    """In order of id."""
    owned = _owned(call)
    return {"brokers": [_row(call, number) for number in sorted(owned.brokers)]}


async def stop(call: Call) -> dict[str, Any]:
    """Answered when it has stopped."""
    number = _number(call)
    try:
        await _owned(call).stop_broker(number, controlled=call.query["controlled"])
    except (ValueError, OSError) as error:
        raise HttpError(409, str(error)) from error
    return _row(call, number)


async def start(call: Call) -> dict[str, Any]:
    """Answered when it has registered."""
    number = _number(call)
    try:
        await _owned(call).start_broker(number)
    except (ValueError, OSError) as error:
        raise HttpError(409, str(error)) from error
    return _row(call, number)


async def slow(call: Call) -> dict[str, Any]:
    """Until the broker is told otherwise, or started again."""
    number = _number(call)
    factor = await call.body(_factor)
    try:
        _owned(call).slow_broker(number, factor)
    except ValueError as error:
        raise HttpError(409, str(error)) from error
    return _row(call, number)


async def fail_log_dir(call: Call) -> dict[str, Any]:
    """Its replicas are offline until the broker is started again, with an empty disk."""
    number = _number(call)
    path = await call.body(_path)
    known = _owned(call).log_dirs(number)
    if path not in known:
        raise HttpError(
            404, f"Broker {number} has no log directory {shown(path)}; it has {', '.join(map(shown, known))}."
        )
    try:
        await _owned(call).fail_log_dir(number, path)
    except ValueError as error:
        raise HttpError(409, str(error)) from error
    return _row(call, number)


def _owned(call: Call) -> OwnedBrokers:
    if call.core.brokers is None:
        raise HttpError(404, "Only brokers of the embedded cluster can be seen and handled here.")
    return call.core.brokers


def _number(call: Call) -> int:
    number, owned = call.number("broker"), _owned(call)
    if number not in owned.brokers:
        raise HttpError(404, f"There is no broker {number}; `reassignd broker list` lists them.")
    return number


def _row(call: Call, number: int) -> dict[str, Any]:
    known = call.state.brokers.get(number)
    return {
        "id": number,
        "live": number in call.state.live,
        "host": "" if known is None else known.host,
        "port": 0 if known is None else known.port,
        "rack": None if known is None else known.rack,
        "log_dirs": [{"path": path, "works": works} for path, works in _owned(call).log_dirs(number).items()],
    }


def _factor(value: object) -> float:
    factor = fields(value, "the body", "factor").get("factor")
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 <= factor <= FASTEST:
        raise HttpError(400, f"'factor' is {shown(factor)}, expected a number from 0 to {FASTEST:.0f}")
    return float(factor)


def _path(value: object) -> str:
    path = fields(value, "the body", "path").get("path")
    if not isinstance(path, str):
        raise HttpError(400, f"'path' is {shown(path)}, expected a log directory")
    return path


CONTROLLED = Parameter("controlled", "boolean", True, "In order; else at once, as if it had crashed.")

ENDPOINTS = (
    Endpoint("GET", "/v1/brokers", "List the brokers of the embedded cluster.", brokers, "Brokers"),
    Endpoint(
        "POST",
        "/v1/brokers/{broker}/stop",
        "Stop a broker of the embedded cluster.",
        stop,
        "Broker",
        query=(CONTROLLED,),
    ),
    Endpoint("POST", "/v1/brokers/{broker}/start", "Start a stopped broker.", start, "Broker"),
    Endpoint(
        "POST",
        "/v1/brokers/{broker}/slow",
        "Multiply the network rate of a broker by a factor.",
        slow,
        "Broker",
        "Slow",
    ),
    Endpoint(
        "POST",
        "/v1/brokers/{broker}/fail-log-dir",
        "Fail a log directory of a broker.",
        fail_log_dir,
        "Broker",
        "FailLogDir",
    ),
)
