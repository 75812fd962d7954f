"""`/v1/jobs/{job}/timeline`. Partition n has 100 + n bytes."""

from collections.abc import Sequence

from controller.model.audit import AuditAction, AuditEntry, AuditFilter, AuditLogError
from server.api.resources.job_timeline import MOST_ENTRIES
from server.progress.job_history import BrokerChange, Hold
from tests.server.api.api_client import MOVE, ApiClient


class Log:
    """An audit log in memory."""

    def __init__(self, *entries: tuple[int, AuditAction, int]) -> None:
        self.entries = [
            AuditEntry(number, time, action, "User:ann", None, job, "{}")
            for number, (time, action, job) in enumerate(entries, 1)
        ]
        self.fault = ""

    def newest(self, chosen: AuditFilter, limit: int, before: int | None = None) -> list[AuditEntry]:
        if self.fault:
            raise AuditLogError(self.fault)
        found = [
            each
            for each in reversed(self.entries)
            if (chosen.actions is None or each.action in chosen.actions)
            and chosen.job in (None, each.job)
            and (chosen.since_ms is None or each.time_ms >= chosen.since_ms)
            and (chosen.until_ms is None or each.time_ms < chosen.until_ms)
        ]
        return found[:limit]

    def oldest(self, chosen: AuditFilter, limit: int, after: int = 0) -> Sequence[AuditEntry]:
        raise NotImplementedError


def with_log(client: ApiClient, log: Log | None) -> ApiClient:
    client.serve(audit=log)
    return client


async def test_it_has_samples_of_the_rate_and_of_what_has_ended() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    await client.progress.measure()
    client.sizes.received_bytes = {("foo-0", 4): 30, ("foo-1", 4): 20}
    await client.clock.advance(5)
    await client.progress.measure()
    answer = await client.get("/v1/jobs/1/timeline")
    assert (answer["job"], answer["total"], answer["samples"]["rates"]) == (1, 2, [10])
    assert (answer["samples"]["ended"], answer["samples"]["throttles"]) == ([0], [None])
    assert answer["until_ms"] >= answer["from_ms"]


async def test_it_has_what_was_ordered_for_the_job_and_for_all_jobs() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    client.controller.settle()
    await client.post("/v1/jobs/1/rollback")
    now = client.controller.state.orders.jobs[1].created_ms
    log = Log(
        (now - 1, AuditAction.LIMITS, 0),
        (now, AuditAction.ORDER, 1),
        (now, AuditAction.PAUSE, 0),
        (now, AuditAction.PAUSE, 7),
        (now, AuditAction.ROLLBACK, 2),
        (now, AuditAction.PAUSE, 2),
    )
    answer = await with_log(client, log).get("/v1/jobs/1/timeline")
    assert [(each["action"], each["job"]) for each in answer["entries"]] == [
        ("order", 1), ("pause", None), ("rollback", 2),
    ]  # fmt: skip


async def test_it_has_brokers_that_stopped_and_says_what_is_missing() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    answer = await client.get("/v1/jobs/1/timeline")
    assert (answer["since_ms"], answer["entries"], answer["brokers"]) == (None, None, [])
    assert "are not stored" in answer["incomplete"]
    assert "there is no audit log" in answer["incomplete"]
    created = client.controller.state.orders.jobs[1].created_ms
    client.progress.history.since_ms = created
    client.progress.history.brokers.append(BrokerChange(created, 6, False))
    client.progress.history.brokers.append(BrokerChange(created - 1, 5, False))
    answer = await with_log(client, Log()).get("/v1/jobs/1/timeline")
    assert [(each["broker"], each["live"]) for each in answer["brokers"]] == [(6, False)]
    assert answer["incomplete"] == ""


async def test_many_orders_are_cut_off_and_that_is_said() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    now = client.controller.state.orders.jobs[1].created_ms
    log = Log(*[(now, AuditAction.PRIORITY, 1)] * (MOST_ENTRIES + 1))
    answer = await with_log(client, log).get("/v1/jobs/1/timeline")
    assert len(answer["entries"]) == MOST_ENTRIES
    assert "the oldest of many orders" in answer["incomplete"]


async def test_orders_of_other_jobs_that_push_out_those_of_all_jobs_are_said_too() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    now = client.controller.state.orders.jobs[1].created_ms
    log = Log((now, AuditAction.LIMITS, 0), *[(now, AuditAction.PAUSE, 7)] * MOST_ENTRIES)
    answer = await with_log(client, log).get("/v1/jobs/1/timeline")
    assert answer["entries"] == []
    assert "the oldest of many orders" in answer["incomplete"]


async def test_many_orders_that_are_all_listed_are_not_called_cut_off() -> None:
    client = ApiClient()
    await client.post("/v1/jobs", MOVE)
    now = client.controller.state.orders.jobs[1].created_ms
    half = MOST_ENTRIES // 2
    log = Log(*[(now, AuditAction.PRIORITY, 1)] * half, *[(now, AuditAction.PAUSE, 0)] * half)
    answer = await with_log(client, log).get("/v1/jobs/1/timeline")
    assert len(answer["entries"]) == MOST_ENTRIES
    assert "many orders" not in answer["incomplete"]


async def test_a_hold_that_is_older_than_the_job_is_listed_while_it_lasts() -> None:
    client = ApiClient()
    for time, reason in ((1, "closed"), (2, ""), (3, "closed")):
        client.progress.history.holds.append(Hold(time, reason))
    await client.post("/v1/jobs", MOVE)
    answer = await client.get("/v1/jobs/1/timeline")
    assert [(each["time_ms"], each["reason"]) for each in answer["holds"]] == [(3, "closed")]


async def test_a_log_that_cannot_be_read_and_an_unknown_job_are_named() -> None:
    client, log = ApiClient(), Log()
    log.fault = "the audit log cannot be read: disk I/O error"
    await client.post("/v1/jobs", MOVE)
    assert await with_log(client, log).refusal("GET", "/v1/jobs/1/timeline") == (503, log.fault)
    assert (await client.refusal("GET", "/v1/jobs/9/timeline"))[0] == 404
