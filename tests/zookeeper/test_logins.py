"""Who comes to ZooKeeper, and how: a real ZooKeeper that knows its clients, and no brokers."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from backends.zookeeper.session import client as under_test
from backends.zookeeper.session.client import ZookeeperClient
from backends.zookeeper.session.tree import ConflictError, Create, ZookeeperError
from reassignd.config.config import Assignment, resolve
from reassignd.config.zookeeper_security import security
from tests.backends.zookeeper.behaviour import BEHAVIOUR, Behaviour
from tests.zookeeper.guarded import SECRET, Guarded

ACL = {"zookeeper.set.acl": "true"}
OTHER_AUTHORITY = str(Path(__file__).parents[1] / "reassignd" / "tls" / "ca.pem")


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with Guarded(tmp_path_factory.mktemp("guarded"), 0) as cluster:
        yield cluster


@asynccontextmanager
async def connected(
    cluster: Guarded, values: dict[str, str], place: str = ""
) -> AsyncIterator[ZookeeperClient]:
    """A client by these settings."""
    at_root = {"zookeeper.connect": cluster.zookeeper} | values
    host = at_root["zookeeper.connect"].partition("/")[0]
    settings = resolve(Assignment(key, value, "here") for key, value in at_root.items())
    client = ZookeeperClient(f"{host}{place}", 6.0, lambda: None, security(settings))
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


async def refusal(cluster: Guarded, values: dict[str, str]) -> str:
    with pytest.raises(ZookeeperError) as refused:
        async with connected(cluster, values):
            raise AssertionError("let in")
    return str(refused.value)


@pytest.mark.parametrize("behaves", BEHAVIOUR, ids=lambda each: each.__name__)
async def test_it_behaves_like_a_tree_by_tls_with_a_login_and_acls(
    behaves: Behaviour, guarded: Guarded
) -> None:
    values = guarded.tls() | guarded.login() | ACL
    place = f"/test-{uuid.uuid4().hex}"
    async with connected(guarded, values) as base:
        await base.multi([Create(place)])
    async with connected(guarded, values, place) as client:
        await behaves(client)


async def test_much_is_read_and_written_by_tls(guarded: Guarded) -> None:
    data = {f"/much-{number}": bytes([number]) * 500_000 for number in range(10)}
    async with connected(guarded, guarded.tls()) as client:
        for path, value in data.items():
            await client.multi([Create(path, value)])
        found = await client.get_all(list(data))
    assert [each and each.data for each in found] == list(data.values())


async def test_znodes_are_for_those_who_come_alike(guarded: Guarded) -> None:
    async with connected(guarded, guarded.login() | ACL) as client:
        await client.multi([Create("/ours"), Create("/config"), Create("/config/users")])
    async with connected(guarded, guarded.login() | guarded.tls()) as same:
        await same.multi([Create("/ours/too"), Create("/config/users/too")])
    for other in (guarded.login("ann", "ann-secret"), {}, guarded.tls()):
        async with connected(guarded, other) as client:
            assert await client.get("/ours") is not None
            with pytest.raises(ZookeeperError, match="no permission to write /ours/mine"):
                await client.multi([Create("/ours/mine")])
            with pytest.raises(ZookeeperError, match="no permission to read"):
                await client.get("/config/users")


async def test_the_super_user_writes_what_is_others(guarded: Guarded, tmp_path: Path) -> None:
    async with connected(guarded, guarded.login() | ACL) as client:
        await client.multi([Create("/theirs")])
    digest = tmp_path / "digest"
    digest.write_text(f"super:{SECRET}\n")
    async with connected(guarded, {"zookeeper.digest.file": str(digest)}) as client:
        await client.multi([Create("/theirs/not-only")])


async def test_a_wrong_password_is_told_at_once(guarded: Guarded) -> None:
    text = await refusal(guarded, guarded.login("kafka", "wrong"))
    assert text.startswith(f"ZooKeeper at {guarded.zookeeper.partition('/')[0]} rejects the login")


async def test_an_authority_that_is_not_theirs_is_told(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(under_test, "CONNECT_SECONDS", 1.0)
    text = await refusal(guarded, guarded.tls() | {"zookeeper.tls.ca.file": OTHER_AUTHORITY})
    assert "certificate verify failed" in text


async def test_a_login_that_is_refused_meanwhile_is_tried_again(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(under_test, "AGAIN_SECONDS", 0.1)
    async with connected(guarded, guarded.login() | ACL) as client:
        await restarted(guarded, "another")
        await until(lambda: asyncio.sleep(0, "rejects the login now" in caplog.text))
        await restarted(guarded, SECRET)
        await until(lambda: is_made(client, "/after-all"))


async def restarted(cluster: Guarded, password: str) -> None:
    cluster.kill_zookeeper()
    cluster.change_password(password)
    await asyncio.to_thread(cluster.start_zookeeper)


async def is_made(client: ZookeeperClient, path: str) -> bool:
    try:
        await client.multi([Create(path)])
    except ConflictError:
        return True
    except ZookeeperError:
        return False
    return True


async def until(look: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(1_000):
        if await look():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come")
