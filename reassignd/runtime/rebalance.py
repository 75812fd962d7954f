"""Preferred leaders come back by themselves, as in a Kafka with `auto.leader.rebalance.enable`."""

import asyncio
import logging

from controller.messages.events import RebalanceLeaders
from controller.ports import Submitter
from reassignd.config.config import Settings
from server.driver.driver import DriverStoppedError

log = logging.getLogger(__name__)


async def rebalance_for_ever(controller: Submitter, settings: Settings) -> None:
    """Look now and then, if that is configured; ends when the controller has stopped."""
    if not settings.auto_leader_rebalance_enable:
        return
    while True:
        await asyncio.sleep(settings.leader_imbalance_check_interval_seconds)
        try:
            event = RebalanceLeaders(settings.leader_imbalance_per_broker_percentage)
            elected = await controller.submit(event)
        except DriverStoppedError:
            return
        if elected:
            log.info("%d partitions are led by their preferred replicas again", elected)
