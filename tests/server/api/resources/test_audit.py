"""`/v1/audit` and its export."""

import json
from collections.abc import Sequence

import pytest

from controller.model.audit import AuditAction, AuditEntry, AuditFilter, AuditLogError
from tests.server.api.api_client import ApiClient


class Log:
    """A log of entries 1 to 3 that notes the filters."""

    def __init__(self) -> None:
        self.entries = [
            AuditEntry(number, 100 * number, AuditAction.PAUSE, "User:ann", None, 0, '{"priority":2}')
            for number in (1, 2, 3)
        ]
        self.asked: list[AuditFilter] = []
        self.readable = 10
        """Number of reads that succeed."""

    def newest(self, chosen: AuditFilter, limit: int, before: int | None = None) -> list[AuditEntry]:
        self._read(chosen)
        return [each for each in reversed(self.entries) if before is None or each.id < before][:limit]

    def oldest(self, chosen: AuditFilter, limit: int, after: int = 0) -> list[AuditEntry]:
        self._read(chosen)
        return [each for each in self.entries if each.id > after][:limit]

    def _read(self, chosen: AuditFilter) -> None:
        self.asked.append(chosen)
        self.readable -= 1
        if self.readable < 0:
            raise AuditLogError("the audit log cannot be read: disk I/O error")


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def client(log: Log) -> ApiClient:
    with_log = ApiClient()
    with_log.serve(audit=log)
    return with_log


def ids(entries: Sequence[dict[str, int]]) -> list[int]:
    return [each["id"] for each in entries]


async def test_pages_go_from_the_newest_to_the_oldest(client: ApiClient) -> None:
    first = await client.get("/v1/audit?limit=2")
    assert (ids(first["entries"]), first["next"]) == ([3, 2], 2)
    last = await client.get("/v1/audit?limit=2&before=2")
    assert (ids(last["entries"]), last["next"]) == ([1], None)


async def test_an_entry_has_its_detail(client: ApiClient) -> None:
    [entry] = (await client.get("/v1/audit?limit=1"))["entries"]
    assert entry == {
        "id": 3, "time_ms": 300, "action": "pause", "principal": "User:ann", "client_id": None, "job": None,
        "detail": {"priority": 2},
    }  # fmt: skip


async def test_a_detail_of_another_program_is_left_out(client: ApiClient, log: Log) -> None:
    log.entries[2] = log.entries[2]._replace(detail='{"partitions":"many"}')
    [entry] = (await client.get("/v1/audit?limit=1"))["entries"]
    assert (entry["id"], entry["detail"]) == (3, {})


async def test_filters_are_passed_on(client: ApiClient, log: Log) -> None:
    await client.get(
        "/v1/audit?action=order,cancel&principal=User:ann&client=7&job=4&since=5&until=6&topic=foo"
    )
    actions = {AuditAction.ORDER, AuditAction.CANCEL}
    assert log.asked == [AuditFilter(actions, "User:ann", "7", 4, 5, 6, "foo")]


@pytest.mark.parametrize("text", ["007", "7", "true", "1e3", "null"])
async def test_text_that_looks_like_another_value_stays_text(client: ApiClient, log: Log, text: str) -> None:
    await client.get(f"/v1/audit?principal={text}&client={text}&topic={text}")
    assert log.asked == [AuditFilter(None, text, text, None, None, None, text)]


async def test_an_unknown_action_is_named_with_a_similar_one(client: ApiClient) -> None:
    assert await client.refusal("GET", "/v1/audit?action=cancle") == (
        400,
        "unknown action 'cancle'; did you mean cancel?",
    )


async def test_the_export_has_a_line_for_each_entry_the_oldest_first(client: ApiClient) -> None:
    response = await client.raw("GET", "/v1/audit/export?action=pause")
    assert response.headers["content-type"] == "application/jsonl"
    assert ids([json.loads(line) for line in response.text.splitlines()]) == [1, 2, 3]


async def test_without_a_log_the_error_names_the_reason() -> None:
    status, text = await ApiClient().refusal("GET", "/v1/audit")
    assert (status, text.partition(";")[0]) == (
        409,
        "in ZooKeeper mode there is an audit log if audit.dir is set",
    )


@pytest.mark.parametrize("path", ["/v1/audit", "/v1/audit/export"])
async def test_a_log_that_cannot_be_read_is_one_line(client: ApiClient, log: Log, path: str) -> None:
    log.readable = 0
    refusal = await client.refusal("GET", path)
    assert refusal == (503, "the audit log cannot be read: disk I/O error")


async def test_an_export_that_fails_later_ends_with_the_error(client: ApiClient, log: Log) -> None:
    log.readable = 1
    lines = (await client.raw("GET", "/v1/audit/export")).text.splitlines()
    assert [json.loads(line).get("id") for line in lines] == [1, 2, 3, None]
    assert json.loads(lines[-1]) == {"error": "the audit log cannot be read: disk I/O error"}
