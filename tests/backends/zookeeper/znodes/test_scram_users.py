import pytest

from backends.zookeeper.session.tree import ensure
from backends.zookeeper.store.store import DeposedError
from backends.zookeeper.znodes.scram_users import alter, sanitized
from common.error_codes import ErrorCode
from protocol.errors import ApiError
from tests.backends.zookeeper.trees import elected, made, put, read, store_on

ANN = "/config/users/ann"


async def test_a_user_is_made_changed_and_emptied_and_brokers_are_told() -> None:
    tree = await made()
    await ensure(tree, "/config/users", "/config/changes")
    store = await store_on(tree)
    await alter(tree, store, "ann", {"SCRAM-SHA-256": "x"})
    await alter(tree, store, "ann", {"SCRAM-SHA-256": "y", "SCRAM-SHA-512": "z"})
    assert read(tree, ANN)["config"] == {"SCRAM-SHA-256": "y", "SCRAM-SHA-512": "z"}
    await alter(tree, store, "ann", {"SCRAM-SHA-256": None, "SCRAM-SHA-512": None})
    assert read(tree, ANN)["config"] == {}
    names = await tree.children("/config/changes") or []
    told = {read(tree, f"/config/changes/{name}")["entity_path"] for name in names}
    assert (len(names), told) == (3, {"users/ann"})
    await store.close()


async def test_quotas_of_the_user_stay() -> None:
    tree = await made()
    await ensure(tree, "/config/users", "/config/changes")
    await put(tree, ANN, {"version": 1, "config": {"producer_byte_rate": "7"}})
    store = await store_on(tree)
    await alter(tree, store, "ann", {"SCRAM-SHA-256": "x"})
    assert read(tree, ANN)["config"] == {"SCRAM-SHA-256": "x", "producer_byte_rate": "7"}
    await store.close()


async def test_what_is_not_there_cannot_be_removed_and_a_deposed_controller_changes_nothing() -> None:
    tree = await made()
    await ensure(tree, "/config/users", "/config/changes")
    store = await store_on(tree)
    with pytest.raises(ApiError) as refused:
        await alter(tree, store, "ann", {"SCRAM-SHA-256": None})
    assert refused.value.code == ErrorCode.RESOURCE_NOT_FOUND
    await elected(tree)
    with pytest.raises(DeposedError):
        await alter(tree, store, "ann", {"SCRAM-SHA-256": "x"})
    await store.close()


@pytest.mark.parametrize(
    ("user", "name"), [("ann.b_c-d", "ann.b_c-d"), ("a b*~", "a%20b%2A%7E"), ("CN=ä/b", "CN%3D%C3%A4%2Fb")]
)
def test_names_are_those_that_brokers_look_for(user: str, name: str) -> None:
    assert sanitized(user) == name
