"""Periodic election of preferred leaders, as in a Kafka with `auto.leader.rebalance.enable`."""

import logging

from common.clock import Clock
from common.wording import counted
from controller.messages.events import RebalanceLeaders
from controller.ports import Submitter
from reassignd.config.config import Settings
from server.driver.driver import DriverStoppedError

log = logging.getLogger(__name__)


async def rebalance_periodically(controller: Submitter, settings: Settings, clock: Clock) -> None:
    """Elect preferred leaders at the configured interval, until the controller has stopped.

    Returns at once when that is not configured.
    """
    if not settings.auto_leader_rebalance_enable:
        return
    while True:
        await clock.sleep(settings.leader_imbalance_check_interval_seconds)
        try:
            elected = await controller.submit(
                RebalanceLeaders(settings.leader_imbalance_per_broker_percentage)
            )
        except DriverStoppedError:
            return
        if elected:
            log.info("elected the preferred leaders of %s", counted(elected, "partition"))
