"""`/v1/status` and the big switch."""

from tests.server.api.desk import MOVE, Desk, three


async def test_a_cluster_at_rest() -> None:
    answer = await Desk().get("/v1/status")
    assert answer["brokers"] == {"registered": 6, "live": 6, "offline": []}
    assert answer["partitions"] == {"total": 3, "offline": 0, "under_replicated": 0, "under_min_isr": 0}
    assert (answer["jobs"], answer["paused"], answer["spark"]["state"]) == ([], False, "off")


async def test_what_moves_what_does_not_and_why() -> None:
    desk = Desk(three(partitions=1))
    await desk.post("/v1/jobs?throttle=5000", MOVE)
    answer = await desk.get("/v1/status")
    assert answer["reassignments"] == {
        "ongoing": 2,
        "moving": 1,
        "waiting": 0,
        "queued": 1,
        "pending": 0,
        "others": 0,
    }
    assert [job["id"] for job in answer["jobs"]] == [1]
    assert answer["reasons"] == [{"reason": "limit P: 1 of 1 partition movements", "partitions": 1}]
    assert answer["throttle"]["bytes_per_second"] == 5000
    assert answer["throttle"]["leases"] > 0


async def test_a_broker_that_is_gone_is_named() -> None:
    desk = Desk()
    desk.world.stop(2)
    answer = await desk.get("/v1/status")
    assert (answer["brokers"]["offline"], answer["partitions"]["under_replicated"]) == ([2], 3)


async def test_everything_is_paused_and_goes_on() -> None:
    desk = Desk()
    assert await desk.post("/v1/pause") == {"paused": True}
    await desk.post("/v1/jobs", MOVE)
    assert (desk.world.moving(), (await desk.get("/v1/status"))["paused"]) == ([], True)
    assert await desk.post("/v1/resume") == {"paused": False}
    assert desk.world.moving() == ["foo-0", "foo-1"]
