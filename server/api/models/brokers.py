"""The models of `/v1/brokers`."""

from typing import Annotated

from msgspec import Meta, Struct

FASTEST = 1000.0
"""The greatest factor for a broker's network speed."""


class LogDir(Struct):
    """A log directory of a broker."""

    path: str
    works: bool


class Broker(Struct):
    """A broker of the embedded cluster."""

    id: int
    live: bool
    host: str
    port: int
    rack: str | None
    log_dirs: list[LogDir]


class Brokers(Struct):
    """The brokers of the embedded cluster."""

    brokers: list[Broker]


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
