"""Listeners: one a broker, opened and closed while others serve."""

import asyncio
import logging
from functools import partial

import pytest

from protocol.messages.describe_cluster_request import DescribeClusterRequest
from server import listener
from server.limits import Limits
from server.listener import Listeners
from server.session import Session
from server.stats import Counters
from tests.server.fakes import FakeBroker
from tests.server.sockets import PROMPT, serving, until


@pytest.fixture(autouse=True)
def quick_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "ROUND_SECONDS", 0.01)


async def test_a_client_is_answered() -> None:
    async with serving() as served:
        talk = await served.connect()
        assert (await talk.ask(DescribeClusterRequest(), 1)).cluster_id == "cluster-1"
        await talk.close()


async def test_one_connection_too_many_is_closed_with_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(Limits(max_connections=1)) as served:
        first = await served.connect()
        await first.ask(DescribeClusterRequest(), 1)
        second = await served.connect()
        assert await second.ended()
        assert "1 are open already" in caplog.text
        await first.ask(DescribeClusterRequest(), 1)
        await first.close()
        await second.close()


async def test_a_place_is_free_again_when_a_connection_ends() -> None:
    async with serving(Limits(max_connections=1)) as served:
        for _ in range(3):
            talk = await served.connect()
            await talk.ask(DescribeClusterRequest(), 1)
            await talk.close()
            await until(lambda: not served.listeners.connections)


async def test_connections_are_counted() -> None:
    async with serving() as served:
        talk = await served.connect()
        await talk.ask(DescribeClusterRequest(), 1)
        assert (served.listeners.connections, served.stats.connections) == (1, 1)
        await talk.close()
    assert (served.listeners.connections, served.stats.connections) == (0, 0)


async def test_closing_a_brokers_listener_cuts_its_connections_alone() -> None:
    async with serving() as served:
        await served.listeners.open(FakeBroker(2), "127.0.0.1", 0)
        host, port = await served.listeners.open(FakeBroker(3), "127.0.0.1", 0)
        stays = await served.connect()
        reader, writer = await asyncio.open_connection(host, port)
        await served.listeners.close(3)
        assert await asyncio.wait_for(reader.read(), PROMPT) == b""
        writer.close()
        await stays.ask(DescribeClusterRequest(), 1)
        await stays.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(host, port)


async def test_closing_all_finishes_the_answers_under_way() -> None:
    async with serving() as served:
        served.held = asyncio.Event()
        talk = await served.connect()
        asked = asyncio.create_task(talk.ask(DescribeClusterRequest(), 1))
        await until(lambda: served.holding == 1)
        closing = asyncio.create_task(served.listeners.close_all(5))
        await asyncio.sleep(0)
        served.held.set()
        assert (await asked).error_code == 0
        await closing
        assert await talk.ended()
        await talk.close()


async def test_closing_all_does_not_wait_longer_than_the_grace() -> None:
    async with serving() as served:
        served.held = asyncio.Event()
        talk = await served.connect()
        talk.writer.write(talk.client.ask(DescribeClusterRequest(), 1))
        await until(lambda: served.holding == 1)
        await served.listeners.close_all(0.01)
        assert await talk.ended()
        await talk.close()


async def test_an_idle_connection_is_closed_with_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(Limits(idle=0.05)) as served:
        talk = await served.connect()
        assert await talk.ended()
        assert [r.levelno for r in caplog.records if "idle for 0.05 s" in r.getMessage()] == [logging.WARNING]
        await talk.close()


async def test_an_address_in_use_is_the_callers_problem() -> None:
    async with serving() as served:
        with pytest.raises(OSError, match="address already in use"):
            await served.listeners.open(FakeBroker(2), served.host, served.port)


async def test_the_event_loops_lag_is_measured() -> None:
    async with serving() as served:
        served.stats.loop_lag_seconds = -1
        await until(lambda: served.stats.loop_lag_seconds >= 0)


async def test_closing_what_was_never_opened_is_no_problem() -> None:
    await Listeners(partial(Session, lambda *_: b"", Limits()), Limits(), Counters()).close_all(0)
