"""Ports stay assigned to their brokers."""

import asyncio
import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from common.durable_file import replace_file
from server.gateway.port_assignments import (
    FILE,
    Claim,
    PortAssignmentError,
    PortAssignments,
    PortPendingError,
)


async def positions(places: PortAssignments, *brokers: int, limit: int = 9, present: Any = ()) -> list[int]:
    return [await places.position(Claim(broker, limit, {broker, *present})) for broker in brokers]


async def test_brokers_get_positions_in_the_order_of_their_first_appearance(tmp_path: Path) -> None:
    assert await positions(PortAssignments(tmp_path), 7, 3, 7, 5) == [1, 2, 1, 3]


async def test_positions_are_kept_over_a_restart(tmp_path: Path) -> None:
    await positions(PortAssignments(tmp_path), 7, 3)
    assert await positions(PortAssignments(tmp_path), 1, 3, 7) == [3, 2, 1]


async def test_brokers_that_are_replaced_again_and_again_find_a_port(tmp_path: Path) -> None:
    for generation in range(6):
        ids = range(1 + 5 * generation, 6 + 5 * generation)
        places = PortAssignments(tmp_path)
        found = [(await positions(places, new, limit=6, present=ids))[0] for new in ids]
        assert len(set(found)) == 5
        assert max(found) <= 6


async def test_a_port_is_used_again_only_if_no_other_is_free_and_its_broker_holds_nothing(
    tmp_path: Path,
) -> None:
    places = PortAssignments(tmp_path, lambda: {1, 3})
    assert await positions(places, 1, 2, 3, 4, limit=3) == [1, 2, 3, 2]
    with pytest.raises(PortAssignmentError, match="brokers have 3 ports, and all of them are in use"):
        await positions(places, 5, limit=3, present=(1, 3, 4))


async def test_while_the_replicas_are_not_known_no_port_is_used_again(tmp_path: Path) -> None:
    with pytest.raises(PortPendingError):
        await positions(PortAssignments(tmp_path, lambda: None), 1, 2, limit=1)


async def test_a_position_above_the_limit_is_assigned_anew(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"1": 1, "31": 31}')
    assert await positions(PortAssignments(tmp_path), 31, 1, limit=6) == [2, 1]


async def test_the_loop_runs_while_a_position_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, runs = asyncio.get_running_loop(), threading.Event()

    def write(*given: Any) -> None:
        loop.call_soon_threadsafe(runs.set)
        assert runs.wait(30)  # only the loop can end this
        replace_file(*given)

    monkeypatch.setattr("server.gateway.port_assignments.replace_file", write)
    assert await positions(PortAssignments(tmp_path), 7) == [1]


def test_no_temporary_file_is_left(tmp_path: Path) -> None:
    asyncio.run(positions(PortAssignments(tmp_path), 7))
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


async def test_only_the_owner_can_read_the_file_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / FILE).with_suffix(".new").symlink_to(tmp_path / "elsewhere")
    await positions(PortAssignments(tmp_path), 1)
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', "{"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(
        PortAssignmentError, match=f"cannot read the ports of brokers in {re.escape(str(tmp_path))}"
    ):
        PortAssignments(tmp_path)


@pytest.mark.parametrize("given", [{"1": 1, "2": 1}, {"1": 0}, {"1": "x"}])
def test_a_file_with_invalid_positions_is_refused(tmp_path: Path, given: dict[str, object]) -> None:
    (tmp_path / FILE).write_text(json.dumps(given))
    with pytest.raises(PortAssignmentError, match="correct it, or remove it"):
        PortAssignments(tmp_path)


async def test_a_position_that_cannot_be_saved_is_not_assigned(tmp_path: Path) -> None:
    places = PortAssignments(tmp_path / "gone")
    with pytest.raises(PortAssignmentError, match="cannot keep the ports of brokers"):
        await positions(places, 1)
    assert places.positions == {}
