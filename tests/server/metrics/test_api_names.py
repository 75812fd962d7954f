from protocol.apis import ApiKey
from server.metrics.api_names import OTHER_NAMES, api_name
from tools.broker_api_versions import names


def test_every_api_of_kafka_s_brokers_has_its_name() -> None:
    listed = names()
    assert {key: api_name(key) for key in listed} == listed


def test_an_unknown_api_has_its_number() -> None:
    assert api_name(9999) == "9999"


def test_no_api_is_named_twice() -> None:
    assert OTHER_NAMES.keys().isdisjoint(ApiKey)
