import pytest

from server.metrics.metric import Metric, error_name, exposed_name, one_label


@pytest.mark.parametrize(("kind", "name"), [("gauge", "x"), ("counter", "x_total"), ("info", "x_info")])
def test_the_name_in_a_scrape_depends_on_the_kind(kind: str, name: str) -> None:
    assert exposed_name(Metric("x", kind, (), lambda _: [], "")) == name


def test_errors_have_kafka_s_names() -> None:
    assert (error_name(31), error_name(9999)) == ("CLUSTER_AUTHORIZATION_FAILED", "9999")


def test_the_only_label_is_the_key() -> None:
    assert one_label({3: 7.0}) == [(("3",), 7.0)]
