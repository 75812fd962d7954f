import pytest

from reassignd.config.config import Assignment, resolve
from reassignd.config.initial_limits import INITIAL, checked, config_of
from reassignd.errors import ConfigError

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
