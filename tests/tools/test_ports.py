import socket

from tools.ports import Ports, free_port, free_ports, share

GROUPS = range(14_000, 32_768)


def test_a_single_port_is_below_those_of_a_group() -> None:
    assert free_port() < 14_000 <= free_ports(3)


def test_the_ports_of_a_group_are_free() -> None:
    first = free_ports(3)
    for port in range(first, first + 3):
        socket.create_server(("127.0.0.1", port)).close()


def test_a_port_in_use_is_not_returned() -> None:
    first = free_ports(3)
    ports = Ports(range(first, first + 3))
    with socket.create_server(("127.0.0.1", first)):
        assert {ports.free(1), ports.free(1)} == {first + 1, first + 2}


def test_a_port_is_returned_again_after_all_others() -> None:
    first = free_ports(3)
    ports = Ports(range(first, first + 3))
    given = [ports.free(1) for _ in range(4)]
    assert sorted(given[:3]) == [first, first + 1, first + 2]
    assert given[3] == given[0]


def test_processes_side_by_side_choose_among_ports_of_their_own() -> None:
    shares = [share(GROUPS, f"{number}/3") for number in range(3)]
    assert [len(part) for part in shares] == [len(GROUPS) // 3] * 3
    assert len(set().union(*shares)) == 3 * (len(GROUPS) // 3)
    assert share(GROUPS, "0/1") == GROUPS
