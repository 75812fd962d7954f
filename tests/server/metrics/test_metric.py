import pytest

from protocol.apis import ApiKey
from server.metrics.metric import OTHER_NAMES, Metric, api_name, error_name, exposed_name, one_label
from tools.broker_api_versions import names


@pytest.mark.parametrize(("kind", "name"), [("gauge", "x"), ("counter", "x_total"), ("info", "x_info")])
def test_the_name_in_a_scrape_depends_on_the_kind(kind: str, name: str) -> None:
    assert exposed_name(Metric("x", kind, (), lambda _: [], "")) == name


def test_errors_have_kafka_s_names() -> None:
    assert (error_name(31), error_name(9999)) == ("CLUSTER_AUTHORIZATION_FAILED", "9999")


def test_the_only_label_is_the_key() -> None:
    assert one_label({3: 7.0}) == [(("3",), 7.0)]


def test_every_api_of_kafka_s_brokers_has_its_name() -> None:
    listed = names()
    assert {key: api_name(key) for key in listed} == listed


def test_an_unknown_api_has_its_number() -> None:
    assert api_name(9999) == "9999"


def test_no_api_is_named_twice() -> None:
    assert OTHER_NAMES.keys().isdisjoint(ApiKey)
