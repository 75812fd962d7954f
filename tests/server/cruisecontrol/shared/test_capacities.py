"""The file of capacities, in Cruise Control's form."""

import pytest

from server.cruisecontrol.shared.capacities import UNKNOWN, Capacities, Capacity, read_capacities

FILE = b"""{"brokerCapacities": [
  {"brokerId": "-1", "capacity": {"DISK": "100", "CPU": "100", "NW_IN": "10", "NW_OUT": "20"}, "doc": "x"},
  {"brokerId": "3", "capacity": {"DISK": {"/a": "1", "/b": 2}, "CPU": {"num.cores": "8"}}}
]}"""


def test_an_entry_is_that_of_a_broker_or_of_all_others() -> None:
    capacities = read_capacities(FILE)
    assert capacities.of(1) == Capacity(100 * 2**20, 10 * 1024, 20 * 1024, None)
    assert capacities.of(3) == Capacity(3 * 2**20, None, None, 8.0)
    assert Capacities().of(3) == UNKNOWN


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"[", "JSON"),
        (b"{}", "brokerCapacities"),
        (b'{"brokerCapacities": [{"brokerId": "x", "capacity": {}}]}', "brokerId 'x' is no number"),
        (FILE.replace(b'"10"', b'"-1"'), "NW_IN of broker -1 is '-1', expected a number above 0"),
        (FILE.replace(b'"8"', b'"nan"'), "num.cores of broker 3 is 'nan'"),
    ],
)
def test_a_wrong_file_is_told_what_is_wrong(data: bytes, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        read_capacities(data)
