"""Ports stay assigned to their brokers."""

import json
import re
from pathlib import Path

import pytest

from server.gateway.port_assignments import FILE, PortAssignmentError, PortAssignments


def test_brokers_get_positions_in_the_order_of_their_first_appearance(tmp_path: Path) -> None:
    places = PortAssignments(tmp_path)
    assert [places.position(broker) for broker in (7, 3, 7, 5)] == [1, 2, 1, 3]


def test_positions_are_kept_over_a_restart(tmp_path: Path) -> None:
    first = PortAssignments(tmp_path)
    first.position(7)
    first.position(3)
    again = PortAssignments(tmp_path)
    assert [again.position(broker) for broker in (1, 3, 7)] == [3, 2, 1]


def test_no_temporary_file_is_left(tmp_path: Path) -> None:
    PortAssignments(tmp_path).position(7)
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_only_the_owner_can_read_the_file_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / FILE).with_suffix(".new").symlink_to(tmp_path / "elsewhere")
    PortAssignments(tmp_path).position(1)
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', "{"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(
        PortAssignmentError, match=f"cannot read the ports of brokers in {re.escape(str(tmp_path))}"
    ):
        PortAssignments(tmp_path)


@pytest.mark.parametrize("positions", [{"1": 1, "2": 1}, {"1": 0}, {"1": "x"}])
def test_a_file_with_invalid_positions_is_refused(tmp_path: Path, positions: dict[str, object]) -> None:
    (tmp_path / FILE).write_text(json.dumps(positions))
    with pytest.raises(PortAssignmentError, match="correct it, or remove it"):
        PortAssignments(tmp_path)


def test_a_position_that_cannot_be_saved_is_not_assigned(tmp_path: Path) -> None:
    places = PortAssignments(tmp_path / "gone")
    with pytest.raises(PortAssignmentError, match="cannot keep the ports of brokers"):
        places.position(1)
