import socket

import pytest

from reassignd.errors import CommandError
from reassignd.kinds import Address
from reassignd.sockets import bind


def test_port_0_takes_a_free_port() -> None:
    with bind(Address("127.0.0.1", 0), "listener") as listening:
        assert listening.getsockname()[1] > 0


def test_an_ipv6_address_is_bound_as_such() -> None:
    with bind(Address("::1", 0), "listener") as listening:
        assert listening.family is socket.AF_INET6


def test_a_port_in_use_is_named_with_what_to_change() -> None:
    with bind(Address("127.0.0.1", 0), "listener") as first:
        port = first.getsockname()[1]
        with pytest.raises(CommandError) as refused:
            bind(Address("127.0.0.1", port), "listener")
    assert (
        str(refused.value) == f"cannot listen on 127.0.0.1:{port}: port {port} is in use; change `listener`"
    )


def test_an_unknown_host_is_named() -> None:
    with pytest.raises(CommandError, match="the host 'no host' is not known"):
        bind(Address("no host", 0), "listener")


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(CommandError, match="cannot assign requested address"):
        bind(Address("192.0.2.1", 0), "listener")
