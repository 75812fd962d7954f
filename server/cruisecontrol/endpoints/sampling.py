"""`POST /pause_sampling` and `/resume_sampling`: end or begin to measure the load of partitions.

`GET /bootstrap` and `/train` have nothing to do: no model is trained.
"""

from functools import partial
from typing import Annotated

from msgspec import Meta

from controller.model.configs import LOAD_SAMPLING
from server.api.resources.load import alter_sampling
from server.cruisecontrol.shared.answers import Message
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.errors import refused
from server.cruisecontrol.shared.parameters import Parameters, refuse_review

NO_TRAINING = "Nothing needs to be trained: sizes are measured, and rates by {}=on."

Ignored = Annotated[int, Meta(description="No effect: no samples are kept that could be read again.")]


class SamplingParameters(Parameters, kw_only=True):
    """The parameters of sampling."""

    review_id: Annotated[int | None, Meta(description="Refused: it is not reviewed.")] = None


class TrainParameters(Parameters, kw_only=True):
    """The time of samples."""

    start: Ignored = -1
    end: Ignored = -1


class BootstrapParameters(TrainParameters, kw_only=True):
    """The time of samples, and what happens to earlier ones."""

    clearmetrics: Annotated[bool, Meta(description="No effect: nothing is cleared.")] = False
    developer_mode: Annotated[bool, Meta(description="No effect.")] = False


async def _sample(on: bool, call: CruiseControlCall, given: SamplingParameters) -> Message:
    """Begin or end sampling. It is durable."""
    refuse_review(given.review_id)
    if call.context.services.load is None:
        raise refused("load is not measured here")
    await alter_sampling(call.call, on)
    word = "resumed" if on else "paused; sizes are still measured, and plans are made by them"
    return Message(f"Sampling of load is {word} ({LOAD_SAMPLING}={'on' if on else 'off'}).")


async def train(_: CruiseControlCall, __: TrainParameters) -> Message:
    """Do nothing."""
    return Message(NO_TRAINING.format(LOAD_SAMPLING))


ENDPOINTS = (
    Endpoint("POST", "pause_sampling", "End to measure load.", SamplingParameters, partial(_sample, False)),
    Endpoint("POST", "resume_sampling", "Begin to measure load.", SamplingParameters, partial(_sample, True)),
    Endpoint("GET", "bootstrap", "Do nothing: no model is trained.", BootstrapParameters, train),
    Endpoint("GET", "train", "Do nothing: no model is trained.", TrainParameters, train),
)
