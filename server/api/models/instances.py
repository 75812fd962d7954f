"""The models of `/v1/instances`."""

from typing import Annotated

from msgspec import Meta, Struct


class InstanceInfo(Struct):
    """An instance of reassignd before the cluster."""

    id: Annotated[str, Meta(description="A new one at each start.")]
    active: bool
    version: str
    url: Annotated[str, Meta(description="The URL of its HTTP API for other instances.")]
    started_ms: Annotated[int, Meta(description="Start of the process, in milliseconds since 1970.")]
    lag: Annotated[int, Meta(description="Records of the state topic that it has not read yet.")]


class InstanceList(Struct):
    """The instances before the cluster."""

    term: Annotated[int, Meta(description="Increases with each change of the active instance.")]
    active_since_ms: Annotated[int, Meta(description="Start of the term, in milliseconds since 1970.")]
    instances: Annotated[
        list[InstanceInfo],
        Meta(description="The active instance first, then the standbys that were heard lately."),
    ]


class HandOver(Struct):
    """The answer to a hand-over."""

    standbys: Annotated[int, Meta(description="Instances of which one takes over.")]
