"""Rows of the state topic that are no records of the controller: what the topic belongs to, and the gateway's ports."""

from collections.abc import Mapping

import msgspec

from backends.state_topic.topic import StateTopicError
from common.json.foreign import decode_foreign
from protocol.errors import DecodeError
from protocol.record_batch import BatchRecord

META, PORTS = "meta", "ports"
META_KEY, PORTS_KEY = (msgspec.json.encode([name]) for name in (META, PORTS))

FORMAT = 1
"""Of the rows. A newer one is refused."""


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """What the topic belongs to; the first active instance writes it."""

    format: int = FORMAT
    cluster_id: str = ""
    """The own id of the gateways before the cluster, which clients of the API get."""
    upstream_cluster_id: str = ""
    moved_to: str = ""
    """The data directory to which the records were moved. No instance becomes active any more."""

    def encode(self) -> BatchRecord:
        """Return the row."""
        return BatchRecord(META_KEY, msgspec.json.encode(self))


class _Ports(msgspec.Struct, frozen=True):
    positions: dict[int, int]


_ANY, _META = msgspec.json.Decoder(dict[str, object]), msgspec.json.Decoder(Meta)
_PORTS = msgspec.json.Decoder(_Ports)


def read_meta(
    rows: Mapping[bytes, bytes], topic: str, upstream_cluster_id: str, *, moved: bool = False
) -> Meta | None:
    """Return the meta row, or None if no instance was active yet.

    Raises StateTopicError for the rows of another cluster, of a newer format, or, unless `moved` is set, for rows that
    were moved to a data directory; and DecodeError.
    """
    value = rows.get(META_KEY)
    if value is None:
        return None
    try:
        # The format first: a newer one may have other fields.
        number = decode_foreign(value, _ANY).get("format")
        if isinstance(number, int) and number > FORMAT:
            raise StateTopicError(
                f"the state topic {topic} has format {number}, and this version knows formats up to {FORMAT}: "
                "start the newer version"
            )
        meta = decode_foreign(value, _META)
    except msgspec.DecodeError as error:
        raise DecodeError(f"the row {META} of the state topic: {error}") from error
    if meta.upstream_cluster_id != upstream_cluster_id:
        raise StateTopicError(
            f"the state topic {topic} has the records of cluster {meta.upstream_cluster_id}, not of "
            f"{upstream_cluster_id}: set state.topic to another name"
        )
    if meta.moved_to and not moved:
        raise StateTopicError(
            f"the records of the state topic {topic} were moved to the data directory {meta.moved_to}: start with "
            "state=directory there, or move them back with `reassignd state import`"
        )
    return meta


def read_ports(rows: Mapping[bytes, bytes]) -> Mapping[int, int]:
    """Return the positions of the brokers' ports, by broker. Raises DecodeError."""
    value = rows.get(PORTS_KEY)
    if value is None:
        return {}
    try:
        positions = decode_foreign(value, _PORTS).positions
    except msgspec.DecodeError as error:
        raise DecodeError(f"the row {PORTS} of the state topic: {error}") from error
    if len(set(positions.values())) < len(positions) or min(positions.values(), default=1) < 1:
        raise DecodeError(f"the row {PORTS} of the state topic assigns a port twice, or an invalid one")
    return positions


def encode_ports(positions: Mapping[int, int]) -> BatchRecord:
    """Return the row."""
    return BatchRecord(PORTS_KEY, msgspec.json.encode(_Ports(dict(positions))))
