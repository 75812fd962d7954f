from backends.embedded.settings import Settings


def test_brokers_are_in_racks_by_turns() -> None:
    assert [Settings(racks=3).rack(broker) for broker in (1, 2, 3, 4)] == [
        "rack-a",
        "rack-b",
        "rack-c",
        "rack-a",
    ]
