import pytest

from backends.zookeeper.session.tree import ZookeeperError, ensure
from backends.zookeeper.store.shared_znodes import Block, allocate, alter_scram_user, sanitized
from backends.zookeeper.store.store import DeposedError
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError
from common.error_codes import ErrorCode
from protocol.codec.errors import ApiError
from tests.backends.zookeeper.trees import elect, open_store, read_json, tree_with, write_json


async def test_blocks_are_consecutive_from_zero() -> None:
    tree = await tree_with()
    await ensure(tree, paths.PRODUCER_IDS)
    store = await open_store(tree)
    assert [await allocate(tree, store, broker) for broker in (1, 2)] == [Block(0), Block(1000)]
    assert read_json(tree, paths.PRODUCER_IDS) == {
        "version": 1, "broker": 2, "block_start": "1000", "block_end": "1999",
    }  # fmt: skip
    await store.close()


@pytest.mark.parametrize(
    "value", [b"{", {"block_end": 5}, {"block_end": "-1"}, {"block_end": str(2**63 - 1)}]
)
async def test_invalid_data_is_an_error(value: object) -> None:
    tree = await tree_with()
    await write_json(tree, paths.PRODUCER_IDS, value)
    store = await open_store(tree)
    with pytest.raises(ZnodeError):
        await allocate(tree, store, 1)
    await store.close()


async def test_a_deposed_controller_allocates_nothing() -> None:
    tree = await tree_with()
    store = await open_store(tree)
    with pytest.raises(ZookeeperError, match="is missing"):
        await allocate(tree, store, 1)
    await ensure(tree, paths.PRODUCER_IDS)
    await elect(tree)
    with pytest.raises(DeposedError):
        await allocate(tree, store, 1)
    await store.close()


ANN = "/config/users/ann"


async def test_credentials_are_created_changed_and_deleted_with_notifications() -> None:
    tree = await tree_with()
    await ensure(tree, "/config/users", "/config/changes")
    store = await open_store(tree)
    await alter_scram_user(tree, store, "ann", {"SCRAM-SHA-256": "x"})
    await alter_scram_user(tree, store, "ann", {"SCRAM-SHA-256": "y", "SCRAM-SHA-512": "z"})
    assert read_json(tree, ANN)["config"] == {"SCRAM-SHA-256": "y", "SCRAM-SHA-512": "z"}
    await alter_scram_user(tree, store, "ann", {"SCRAM-SHA-256": None, "SCRAM-SHA-512": None})
    assert read_json(tree, ANN)["config"] == {}
    names = await tree.children("/config/changes") or []
    told = {read_json(tree, f"/config/changes/{name}")["entity_path"] for name in names}
    assert (len(names), told) == (3, {"users/ann"})
    await store.close()


async def test_quotas_of_the_user_are_not_changed() -> None:
    tree = await tree_with()
    await ensure(tree, "/config/users", "/config/changes")
    await write_json(tree, ANN, {"version": 1, "config": {"producer_byte_rate": "7"}})
    store = await open_store(tree)
    await alter_scram_user(tree, store, "ann", {"SCRAM-SHA-256": "x"})
    assert read_json(tree, ANN)["config"] == {"SCRAM-SHA-256": "x", "producer_byte_rate": "7"}
    await store.close()


async def test_deleting_a_missing_credential_fails_and_a_deposed_controller_writes_nothing() -> None:
    tree = await tree_with()
    await ensure(tree, "/config/users", "/config/changes")
    store = await open_store(tree)
    with pytest.raises(ApiError) as refused:
        await alter_scram_user(tree, store, "ann", {"SCRAM-SHA-256": None})
    assert refused.value.code == ErrorCode.RESOURCE_NOT_FOUND
    await elect(tree)
    with pytest.raises(DeposedError):
        await alter_scram_user(tree, store, "ann", {"SCRAM-SHA-256": "x"})
    await store.close()


@pytest.mark.parametrize(
    ("user", "name"), [("ann.b_c-d", "ann.b_c-d"), ("a b*~", "a%20b%2A%7E"), ("CN=ä/b", "CN%3D%C3%A4%2Fb")]
)
def test_user_names_are_sanitized_as_in_kafka(user: str, name: str) -> None:
    assert sanitized(user) == name
