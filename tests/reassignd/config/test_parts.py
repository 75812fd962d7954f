from backends.embedded.settings import Settings as EmbeddedSettings
from reassignd.config.config import Assignment, Settings, resolve
from reassignd.config.parts import embedded_defaults, embedded_settings, limits
from server.connections.client_connection import ConnectionLimits


def resolved(**values: str) -> Settings:
    return resolve(Assignment(name.replace("_", "."), value, "test") for name, value in values.items())


def test_the_defaults_are_those_of_the_components() -> None:
    assert embedded_settings(resolved()) == EmbeddedSettings()
    assert limits(resolved()) == ConnectionLimits()


def test_milliseconds_are_converted_to_seconds() -> None:
    settings = resolved(embedded_tick_ms="5", replica_lag_time_max_ms="1500", frame_timeout_ms="2500")
    assert embedded_settings(settings).tick_seconds == 0.005
    assert embedded_settings(settings).replica_lag_time_seconds == 1.5
    assert limits(settings).frame == 2.5


def test_the_clusters_sizes_are_the_defaults_of_topics() -> None:
    assert embedded_defaults(resolved(embedded_partition_bytes="7")) == {
        "embedded.partition.bytes": "7",
        "embedded.produce.bytes.per.second": "0",
    }
