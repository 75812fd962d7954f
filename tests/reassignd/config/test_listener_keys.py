import pytest

from reassignd.config.config import KEYS, Assignment, resolve
from reassignd.config.listener_keys import LISTENER_KEYS
from reassignd.errors import ConfigError


def test_the_keys_are_settings_of_the_server() -> None:
    assert LISTENER_KEYS.keys() <= KEYS.keys()
    assert {"sasl.enabled.mechanisms", "super.users", "ssl.client.auth"} <= LISTENER_KEYS.keys()


@pytest.mark.parametrize("backend", ["upstream", "zookeeper"])
def test_they_are_refused_where_kafka_s_brokers_authenticate_clients(backend: str) -> None:
    given = {"backend": backend, "upstream.bootstrap.servers": "kafka:9092", "super.users": "User:a"}
    with pytest.raises(
        ConfigError, match=f"super.users is for the embedded cluster only; with backend={backend}"
    ):
        resolve(Assignment(key, value, "test") for key, value in given.items())
