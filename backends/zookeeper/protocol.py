"""Which inter.broker.protocol.version the brokers speak: they are asked, since ZooKeeper does not tell."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from backends.channel import Connect, connect
from backends.zookeeper import paths
from backends.zookeeper.brokers import Directory
from backends.zookeeper.fields import ZnodeError, number
from backends.zookeeper.releases import Protocol, protocol
from backends.zookeeper.tree import Tree
from backends.zookeeper.znodes import Endpoint, Registration, decode_broker
from controller.model import ResourceType
from protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_configs_response import DescribeConfigsResponse

log = logging.getLogger(__name__)

KEY = "inter.broker.protocol.version"
VERSION = 1
RETRY_SECONDS = 0.5
ANSWER_SECONDS = 2.0
"""A machine that has just died may still be registered, and nothing is led until all have answered or not."""

Reach = Callable[[Registration], Endpoint]
PLAIN: Reach = Directory().endpoint


async def find_protocol(
    tree: Tree, own_id: int, configured: str, reach: Reach = PLAIN, connect: Connect = connect
) -> Protocol:
    """The oldest that a broker speaks, or what is configured; waits until a broker answers. Raises ZookeeperError.

    `reach` tells where a broker is asked.
    """
    if configured:
        return protocol(configured)
    while True:
        brokers = await _brokers(tree, own_id, reach)
        told = await asyncio.gather(*(_ask(each, brokers[each], connect) for each in brokers))
        found = [protocol(version) for version in told if version]
        if found:
            log.info("the brokers speak %s %s", KEY, ", ".join(sorted({each for each in told if each})))
            return min(found)
        await asyncio.sleep(RETRY_SECONDS)


async def _brokers(tree: Tree, own_id: int, reach: Reach) -> dict[int, Endpoint]:
    found = {}
    for broker in map(number, await tree.children(paths.BROKERS) or []):
        if broker is None:
            continue
        znode = await tree.get(paths.broker(broker))
        if znode is not None and broker != own_id:
            with suppress(ZnodeError):  # It is told of when we are in office.
                found[broker] = reach(decode_broker(znode.data))
    return found


async def _ask(broker: int, endpoint: Endpoint, connect: Connect) -> str | None:
    """What the broker says, or None when it does not answer."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            channel = await connect(endpoint.host, endpoint.port)
    except OSError as error:
        log.debug("broker %d does not answer: %s", broker, error)
        return None
    try:
        wanted = DescribeConfigsResource(ResourceType.BROKER, str(broker), [KEY])
        async with asyncio.timeout(ANSWER_SECONDS):
            response: DescribeConfigsResponse = await channel.request(
                DescribeConfigsRequest([wanted]), VERSION
            )
    except OSError as error:
        log.debug("broker %d does not answer: %s", broker, error)
        return None
    finally:
        channel.close()
    return next((row.value for result in response.results for row in result.configs if row.name == KEY), None)
