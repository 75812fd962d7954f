"""The ZooKeeper client passes the same tests as the memory tree."""

import uuid
from collections.abc import AsyncIterator

import pytest

from backends.zookeeper.session.client import ZookeeperClient
from backends.zookeeper.session.tree import Create, ZookeeperError
from tests.backends.zookeeper.behaviour import BEHAVIOUR, Behaviour
from tests.zookeeper.site import Site


@pytest.fixture
async def client(site: Site) -> AsyncIterator[ZookeeperClient]:
    """A client with a chroot of its own."""
    root_client = ZookeeperClient(site.cluster.zookeeper, 6.0, lambda: None)
    await root_client.start()
    chroot = f"/test-{uuid.uuid4().hex}"
    await root_client.multi([Create(chroot)])
    await root_client.stop()
    client = ZookeeperClient(f"{site.cluster.zookeeper}{chroot}", 6.0, lambda: None)
    await client.start()
    yield client
    await client.stop()


@pytest.mark.parametrize("behaviour", BEHAVIOUR, ids=lambda behaviour: behaviour.__name__)
async def test_the_client_behaves_like_the_memory_tree(behaviour: Behaviour, client: ZookeeperClient) -> None:
    await behaviour(client)


async def test_an_unreachable_zookeeper_is_reported_in_one_line() -> None:
    client = ZookeeperClient("127.0.0.1:1", 1.0, lambda: None)
    with pytest.raises(ZookeeperError, match="no response from ZooKeeper"):
        await client.start()
