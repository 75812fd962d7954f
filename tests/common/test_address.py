from common.address import Address


def test_an_address_is_written_as_host_and_port() -> None:
    assert str(Address("kafka", 9092)) == "kafka:9092"


def test_an_ipv6_host_is_written_in_brackets() -> None:
    assert str(Address("::1", 9092)) == "[::1]:9092"
