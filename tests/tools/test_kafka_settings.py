from pathlib import Path

import pytest

from reassignd.config.command_config import load
from tools.kafka_settings import ClusterLayout, Spec, client_properties, node_settings

FOLDER = Path("cluster")


def layout(spec: Spec) -> ClusterLayout:
    return ClusterLayout(spec, FOLDER, 20000)


def test_a_node_may_be_broker_and_controller() -> None:
    settings = node_settings(layout(Spec(3)), 1)
    assert settings["process.roles"] == "broker,controller"
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:20000,CONTROLLER://127.0.0.1:20003"
    assert settings["advertised.listeners"] == "PLAINTEXT://127.0.0.1:20000"


def test_the_others_are_brokers_only() -> None:
    settings = node_settings(layout(Spec(3)), 3)
    assert settings["process.roles"] == "broker"
    assert settings["listeners"] == "PLAINTEXT://127.0.0.1:20002"
    assert settings["controller.quorum.voters"] == "1@127.0.0.1:20003"


def test_controllers_may_be_apart() -> None:
    spec = Spec(1, controllers=3, apart=True)
    settings = node_settings(layout(spec), 102)
    assert spec.node_ids == (1, 101, 102, 103)
    assert settings["process.roles"] == "controller"
    assert settings["listeners"] == "CONTROLLER://127.0.0.1:20002"
    assert "advertised.listeners" not in settings


@pytest.mark.parametrize(
    "spec", [Spec(4), Spec(2, secured=True), Spec(3, controllers=3, apart=True, secured=True)]
)
def test_every_listener_has_a_port_of_its_own(spec: Spec) -> None:
    here = layout(spec)
    taken = [here.broker(broker, name) for broker in spec.broker_ids for name in spec.listeners]
    taken += [here.controller(node) for node in spec.controller_ids]
    assert sorted(int(place.split(":")[1]) for place in taken) == list(range(20000, 20000 + spec.ports))


def test_settings_of_the_spec_count_first() -> None:
    spec = Spec(1, settings={"log.cleaner.enable": "true"})
    assert node_settings(layout(spec), 1)["log.cleaner.enable"] == "true"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_client_properties_of_the_tools_are_valid(tmp_path: Path, mechanism: str) -> None:
    file = tmp_path / "client.properties"
    file.write_text(client_properties("SASL_PLAINTEXT", "alter", mechanism, tmp_path))
    credentials = load(file).sasl
    assert credentials is not None
    assert (credentials.mechanism, credentials.username, credentials.password) == (
        mechanism,
        "alter",
        "alter-secret",
    )
