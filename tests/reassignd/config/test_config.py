from pathlib import Path

import pytest

from backends.embedded.cluster import Settings as EmbeddedSettings
from reassignd.config.errors import ConfigError
from reassignd.config.keys import LISTENER_KEYS
from reassignd.config.settings import INITIAL, KEYS, Settings, checked, config_of, key_and_option
from reassignd.config.sources import (
    VARIABLES,
    Assignment,
    parse_override,
    read_environment,
    read_file,
    resolve,
    variable,
)
from reassignd.runtime.embedded_cluster import embedded_defaults, embedded_settings
from reassignd.runtime.listeners.sockets import limits
from server.connections.client_connection import ConnectionLimits


def resolved(*pairs: tuple[str, str]) -> Settings:
    return resolve(Assignment(key, value, "here") for key, value in pairs)


def refusal(*pairs: tuple[str, str]) -> str:
    with pytest.raises(ConfigError) as refused:
        resolved(*pairs)
    return str(refused.value)


def test_without_any_assignment_every_key_has_its_default() -> None:
    settings = resolved()
    assert str(settings.listener) == "127.0.0.1:9092"
    assert str(settings.http_listener) == "127.0.0.1:9080"
    assert settings.embedded_brokers == 6
    assert settings.data_dir == Path(".reassignd")


def test_a_value_has_the_type_of_its_key() -> None:
    assert resolved(("embedded.brokers", "3")).embedded_brokers == 3


def test_the_last_assignment_of_a_key_is_used() -> None:
    assert resolved(("embedded.brokers", "3"), ("embedded.brokers", "4")).embedded_brokers == 4


def test_an_unknown_key_is_refused_with_the_nearest_known_one() -> None:
    assert refusal(("embeded.broker", "3")) == (
        "here: unknown key 'embeded.broker'; the nearest known one is 'embedded.brokers'"
    )


def test_an_unknown_key_unlike_any_other_is_referred_to_the_documentation() -> None:
    assert refusal(("foo", "bar")) == "here: unknown key 'foo'; see docs/configuration.md"


def test_a_key_is_named_with_its_flag_where_it_has_one() -> None:
    assert key_and_option("http.listener") == "`http.listener` (--http HOST:PORT)"
    assert key_and_option("log.level") == "`log.level`"


@pytest.mark.parametrize("value", ["0", "1001", "six", "", "1.5"])
def test_a_wrong_value_is_named_with_the_valid_range(value: str) -> None:
    assert refusal(("embedded.brokers", value)) == (
        f"here: '{value}' is not valid for embedded.brokers: expected an integer in [1, 1000]"
    )


def test_a_wrong_word_is_named_with_the_valid_ones() -> None:
    assert refusal(("log.format", "xml")).endswith("expected one of plain, json")


def test_a_range_of_ports_beyond_65535_is_refused() -> None:
    assert "6 ports from 65531" in refusal(("listener", "127.0.0.1:65531"))
    assert resolved(("listener", "127.0.0.1:65530")).listener.port == 65530


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])  # noqa: S104 (refused, not bound)
def test_a_wildcard_address_needs_an_advertised_host(host: str) -> None:
    listener = ("listener", f"{host}:9092")
    assert refusal(listener).endswith("set advertised.host too")
    assert resolved(listener, ("advertised.host", "broker.example")).advertised_host == "broker.example"


def test_the_upstream_backend_needs_servers() -> None:
    backend = ("backend", "upstream")
    assert "`upstream.bootstrap.servers` (--bootstrap-server HOST:PORT,...)" in refusal(backend)
    settings = resolved(backend, ("upstream.bootstrap.servers", "kafka1:9092, [::1]:9093"))
    assert settings.upstream_bootstrap_servers == (("kafka1", 9092), ("::1", 9093))


def test_an_upstream_that_is_the_own_listener_is_refused() -> None:
    servers, listener = ("upstream.bootstrap.servers", "a:1,b:2"), ("listener", "b:2")
    assert "b:2 is the `listener` of reassignd itself" in refusal(("backend", "upstream"), servers, listener)


@pytest.mark.parametrize("servers", ["kafka1", "kafka1:0", "kafka1:9092,", "kafka1:9092;kafka2:9092"])
def test_servers_that_cannot_be_reached_are_refused(servers: str) -> None:
    assert "HOST:PORT with a port in [1, 65535]" in refusal(("upstream.bootstrap.servers", servers))


def test_every_key_has_a_valid_default_and_a_description() -> None:
    for name, key in KEYS.items():
        key.kind.parse(key.default)
        assert key.doc.endswith("."), name


def test_an_override_is_split_at_its_first_equals_sign() -> None:
    assert parse_override("data.dir = /a=b") == Assignment("data.dir", "/a=b", "--override")


def test_an_override_without_an_equals_sign_is_refused() -> None:
    with pytest.raises(ConfigError, match="--override brokers: expected key=value"):
        parse_override("brokers")


def test_a_file_s_assignments_name_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "some.properties"
    file.write_text("# comment\nembedded.brokers=3\n")
    assert list(read_file(file)) == [Assignment("embedded.brokers", "3", f"{file}:2")]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*none.properties: No such file"):
        list(read_file(tmp_path / "none.properties"))


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "binary.properties"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="it is not UTF-8 text"):
        list(read_file(file))


def test_the_state_topic_needs_the_upstream_backend() -> None:
    with pytest.raises(ConfigError, match="state=topic needs the upstream backend, not backend=embedded"):
        resolve([Assignment("state", "topic", "--state")])


@pytest.mark.parametrize("other", ["http.listener", "gateway.peer.listener"])
@pytest.mark.parametrize(("port", "valid"), [(9091, True), (9092, False), (9095, False), (9096, True)])
def test_the_ports_of_brokers_are_for_no_other_listener(other: str, port: int, valid: bool) -> None:
    given = {
        "backend": "upstream",
        "state": "topic",
        "upstream.bootstrap.servers": "kafka:9092",
        "gateway.ports": "3",
        other: f"127.0.0.1:{port}",
    }
    if valid:
        resolved(*given.items())
    else:
        line = f"{other}: 127.0.0.1:{port} is a port of `listener`, which has 127.0.0.1:9092 to 9095"
        assert line in refusal(*given.items())
        assert "choose another port or a lower gateway.ports" in refusal(*given.items())


def test_http_and_peers_have_different_ports() -> None:
    given = {
        "backend": "upstream",
        "state": "topic",
        "upstream.bootstrap.servers": "kafka:9092",
        "gateway.peer.listener": "10.0.0.1:9080",
        "http.listener": "0.0.0.0:9080",
    }
    assert "0.0.0.0:9080 is a port of `gateway.peer.listener`" in refusal(*given.items())
    resolved(*(given | {"http.listener": "10.0.0.2:9080"}).items())


def test_a_wildcard_peer_listener_needs_a_host() -> None:
    given = {
        "state": "topic",
        "backend": "upstream",
        "upstream.bootstrap.servers": "kafka:9092",
        "gateway.peer.listener": "0.0.0.0:9190",
    }
    with pytest.raises(ConfigError, match=r"set gateway\.peer\.host too"):
        resolve([Assignment(key, value, "--override") for key, value in given.items()])


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


P = "reassignment.max.concurrent.partition.movements"


def test_limits_in_the_settings_are_initial_values() -> None:
    assert resolve([Assignment(P, "20", "x")]).initial_limits == {P: "20"}
    assert resolve([]).initial_limits == {}


def test_names_of_kip_435_are_accepted() -> None:
    assert config_of("reassignment.parallel.partition.count") == P
    assert resolve([Assignment("reassignment.parallel.partition.count", "3", "x")]).initial_limits == {P: "3"}


def test_a_value_out_of_range_is_named_with_its_source() -> None:
    with pytest.raises(ConfigError, match=f"f:3: '0' is not valid for {P}: expected a whole number from 1"):
        resolve([Assignment(P, "0", "f:3")])


def test_a_similar_limit_is_suggested() -> None:
    with pytest.raises(ConfigError, match=f"the nearest known one is '{P}'"):
        resolve([Assignment(P[:-1], "1", "f:3")])


def test_only_configs_of_reassignd_have_initial_values() -> None:
    assert all(name.startswith("reassignment.") for name in INITIAL)
    assert checked(P, "5") == "5"


def settings_of(**values: str) -> Settings:
    return resolve(Assignment(name.replace("_", "."), value, "test") for name, value in values.items())


def test_the_defaults_are_those_of_the_components() -> None:
    assert embedded_settings(settings_of()) == EmbeddedSettings()
    assert limits(settings_of()) == ConnectionLimits()


def test_milliseconds_are_converted_to_seconds() -> None:
    settings = settings_of(embedded_tick_ms="5", replica_lag_time_max_ms="1500", frame_timeout_ms="2500")
    assert embedded_settings(settings).tick_seconds == 0.005
    assert embedded_settings(settings).replica_lag_time_seconds == 1.5
    assert limits(settings).frame == 2.5


def test_the_clusters_sizes_are_the_defaults_of_topics() -> None:
    assert embedded_defaults(settings_of(embedded_partition_bytes="7")) == {
        "embedded.partition.bytes": "7",
        "embedded.produce.bytes.per.second": "0",
    }


def test_a_variable_sets_the_key_of_its_name() -> None:
    [each] = read_environment({"REASSIGND_LOG_LEVEL": "DEBUG", "PATH": "/bin"})
    assert each == Assignment("log.level", "DEBUG", "environment variable REASSIGND_LOG_LEVEL")
    assert resolve([each]).log_level == "DEBUG"


def test_limits_have_variables_too() -> None:
    [each] = read_environment({"REASSIGND_REASSIGNMENT_MAX_CONCURRENT_PARTITION_MOVEMENTS": "7"})
    assert each.key == "reassignment.max.concurrent.partition.movements"


def test_variables_of_kubernetes_and_of_the_commands_are_left_alone() -> None:
    others = {
        "REASSIGND_SERVICE_HOST": "10.0.0.1",
        "REASSIGND_PORT": "tcp://10.0.0.1:9092",
        "REASSIGND_URL": "http://x",
    }
    assert list(read_environment(others)) == []


def test_each_key_has_a_variable_of_its_own() -> None:
    assert len(set(map(variable, KEYS))) == len(KEYS)
    assert VARIABLES[variable("data.dir")] == "data.dir"
