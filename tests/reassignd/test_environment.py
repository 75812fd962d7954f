from reassignd.config.config import KEYS, Assignment, resolve
from reassignd.environment import VARIABLES, read_environment, variable


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
