"""The controlled shutdown of a broker: before it stops, ControlledShutdown (7) moves its leaderships."""

import logging

from backends.client.channel import Connect
from backends.embedded.replica import Leader
from common.clock import Clock
from common.error_codes import ErrorCode
from protocol.messages.controlled_shutdown_request import ControlledShutdownRequest
from protocol.messages.controlled_shutdown_response import ControlledShutdownResponse

log = logging.getLogger(__name__)

VERSION = 3
ATTEMPTS = 3
"""Kafka's controlled.shutdown.max.retries."""

RETRY_SECONDS = 0.5


async def controlled_shutdown(broker: Leader, connect: Connect, clock: Clock) -> bool:
    """Request the shutdown; return whether all leaderships have moved. After False the broker stops nevertheless."""
    for attempt in range(ATTEMPTS):
        if attempt:
            await clock.sleep(RETRY_SECONDS)
        try:
            channel = await connect(*broker.controller)
            try:
                request = ControlledShutdownRequest(broker.id, broker.epoch)
                response: ControlledShutdownResponse = await channel.request(request, VERSION)
            finally:
                channel.close()
        except OSError as error:
            log.debug("broker %d cannot reach the controller: %s", broker.id, error)
            continue
        if response.error_code == ErrorCode.NONE and not response.remaining_partitions:
            return True
        log.debug("broker %d still leads %d partitions", broker.id, len(response.remaining_partitions))
    return False
