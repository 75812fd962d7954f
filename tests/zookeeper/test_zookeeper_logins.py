"""Logins, TLS and ACLs of the ZooKeeper client, with a real ZooKeeper and no brokers."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from backends.zookeeper.session import client as client_module
from backends.zookeeper.session.client import ZookeeperClient
from backends.zookeeper.session.tree import ConflictError, Create, ZookeeperError
from reassignd.config.sources import Assignment, resolve
from reassignd.config.zookeeper_security import security
from tests.backends.zookeeper.behaviour import BEHAVIOUR, Behaviour
from tests.zookeeper.secured_zookeeper import SECRET, SecuredZookeeper

ACL = {"zookeeper.set.acl": "true"}
OTHER_AUTHORITY = str(Path(__file__).parents[1] / "reassignd" / "tls" / "ca.pem")


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredZookeeper]:
    with SecuredZookeeper(tmp_path_factory.mktemp("zookeeper"), 0) as zookeeper:
        yield zookeeper


@asynccontextmanager
async def connected(
    zookeeper: SecuredZookeeper, values: dict[str, str], chroot: str = ""
) -> AsyncIterator[ZookeeperClient]:
    """A ZooKeeper client with these settings of reassignd."""
    properties = {"zookeeper.connect": zookeeper.zookeeper} | values
    host = properties["zookeeper.connect"].partition("/")[0]
    settings = resolve(Assignment(key, value, "here") for key, value in properties.items())
    client = ZookeeperClient(f"{host}{chroot}", 6.0, lambda: None, security(settings))
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


async def refusal(zookeeper: SecuredZookeeper, values: dict[str, str]) -> str:
    with pytest.raises(ZookeeperError) as refused:
        async with connected(zookeeper, values):
            raise AssertionError("the login was accepted")
    return str(refused.value)


@pytest.mark.parametrize("behaviour", BEHAVIOUR, ids=lambda behaviour: behaviour.__name__)
async def test_the_client_behaves_like_the_memory_tree_with_tls_login_and_acls(
    behaviour: Behaviour, zookeeper: SecuredZookeeper
) -> None:
    values = zookeeper.tls() | zookeeper.login() | ACL
    chroot = f"/test-{uuid.uuid4().hex}"
    async with connected(zookeeper, values) as root_client:
        await root_client.multi([Create(chroot)])
    async with connected(zookeeper, values, chroot) as client:
        await behaviour(client)


async def test_large_znodes_are_read_and_written_over_tls(zookeeper: SecuredZookeeper) -> None:
    data = {f"/much-{number}": bytes([number]) * 500_000 for number in range(10)}
    async with connected(zookeeper, zookeeper.tls()) as client:
        for path, value in data.items():
            await client.multi([Create(path, value)])
        znodes = await client.get_all(list(data))
    assert [znode and znode.data for znode in znodes] == list(data.values())


async def test_only_clients_with_the_same_login_write_a_znode(zookeeper: SecuredZookeeper) -> None:
    async with connected(zookeeper, zookeeper.login() | ACL) as client:
        await client.multi([Create("/owned"), Create("/config"), Create("/config/users")])
    async with connected(zookeeper, zookeeper.login() | zookeeper.tls()) as same:
        await same.multi([Create("/owned/child"), Create("/config/users/child")])
    for other in (zookeeper.login("ann", "ann-secret"), {}, zookeeper.tls()):
        async with connected(zookeeper, other) as client:
            assert await client.get("/owned") is not None
            with pytest.raises(ZookeeperError, match="no permission to write /owned/other"):
                await client.multi([Create("/owned/other")])
            with pytest.raises(ZookeeperError, match="no permission to read"):
                await client.get("/config/users")


async def test_the_super_user_writes_znodes_of_others(zookeeper: SecuredZookeeper, tmp_path: Path) -> None:
    async with connected(zookeeper, zookeeper.login() | ACL) as client:
        await client.multi([Create("/foreign")])
    digest = tmp_path / "digest"
    digest.write_text(f"super:{SECRET}\n")
    async with connected(zookeeper, {"zookeeper.digest.file": str(digest)}) as client:
        await client.multi([Create("/foreign/child")])


async def test_a_wrong_password_is_reported_at_once(zookeeper: SecuredZookeeper) -> None:
    message = await refusal(zookeeper, zookeeper.login("kafka", "wrong"))
    assert message.startswith(f"ZooKeeper at {zookeeper.zookeeper.partition('/')[0]} rejects the login")


async def test_an_untrusted_server_certificate_is_reported(
    zookeeper: SecuredZookeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "CONNECT_SECONDS", 1.0)
    message = await refusal(zookeeper, zookeeper.tls() | {"zookeeper.tls.ca.file": OTHER_AUTHORITY})
    assert "certificate verify failed" in message


async def test_a_login_refused_after_a_restart_is_retried(
    zookeeper: SecuredZookeeper, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(client_module, "LOGIN_RETRY_SECONDS", 0.1)
    async with connected(zookeeper, zookeeper.login() | ACL) as client:
        await restart_zookeeper(zookeeper, "another")
        await wait_until(lambda: asyncio.sleep(0, "rejects the login now" in caplog.text))
        await restart_zookeeper(zookeeper, SECRET)
        await wait_until(lambda: can_create(client, "/after-all"))


async def restart_zookeeper(zookeeper: SecuredZookeeper, password: str) -> None:
    zookeeper.kill_zookeeper()
    zookeeper.change_password(password)
    await asyncio.to_thread(zookeeper.start_zookeeper)


async def can_create(client: ZookeeperClient, path: str) -> bool:
    try:
        await client.multi([Create(path)])
    except ConflictError:
        return True
    except ZookeeperError:
        return False
    return True


async def wait_until(probe: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(1_000):
        if await probe():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the condition did not become true")
