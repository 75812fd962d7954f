import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from common.zones import host_zone
from controller.cluster.config_keys import BROKER_KEYS
from controller.schedule.periods import EXAMPLE
from reassignd.config.errors import ConfigError
from reassignd.config.keys import LISTENER_KEYS
from reassignd.config.settings import INITIAL, KEYS
from reassignd.config.sources import Assignment, resolve
from tools.chart_schema import definitions, of_limit, of_setting, rewritten
from tools.kubernetes import strict, write_schemas

EMPTY = '{\n    "config": {\n    },\n    "limits": {\n    }\n}\n'
SAMPLES = [-1, 0, 0.5, 1, 1.05, 1.5, 101, 999, 1000, 600_001, 2**31 - 1, 2**31, "abc", "hold", "auto", "1,2"]
SCHEDULES = [
    "",
    EXAMPLE,
    "22:00-6:00",
    " sat , sun 0:00 - 24:00 ;; TZ = UTC ; mon-fri 1:00-2:00 THROTTLE = 1 MB ;",
]
NO_SCHEDULES = [
    "Foo",
    "Mon-Fri",
    "22:00",
    "tz",
    "22:00-06:00 50MB",
    "22:00-06:00, 7:00-8:00",
    "22-6",
]
UNLIMITED = "reassignment.max.concurrent.bytes"


def accepts(schema: Mapping[str, Any], value: object) -> bool:
    """Return whether the value fits; only with the words of JSON Schema that the generator uses."""
    if "enum" in schema:
        return value in schema["enum"]
    if isinstance(value, str):
        return "string" in schema["type"] and re.search(schema["pattern"], value) is not None
    assert isinstance(value, int | float)
    number = "integer" in schema["type"] and value == int(value)
    inside = schema.get("minimum", value) <= value <= schema.get("maximum", value)
    return inside and (number or "number" in schema["type"])


@pytest.mark.parametrize("name", sorted(INITIAL.keys() - {"reassignment.schedule"}))
def test_the_schema_accepts_the_limits_that_the_process_accepts(name: str) -> None:
    schema, check = of_limit(INITIAL[name]), INITIAL[name].check
    wrong = [each for each in SAMPLES if accepts(schema, each) != (check(str(each), host_zone) is None)]
    assert wrong == []


@pytest.mark.parametrize(
    "name", [name for name, key in KEYS.items() if key.kind.valid.startswith("an integer")]
)
def test_the_schema_has_the_range_of_a_setting(name: str) -> None:
    schema, parse = of_setting(KEYS[name].kind), KEYS[name].kind.parse
    assert (parse(str(schema["minimum"])), parse(str(schema["maximum"]))) == (
        schema["minimum"],
        schema["maximum"],
    )
    for outside in (schema["minimum"] - 1, schema["maximum"] + 1):
        with pytest.raises(ValueError, match=str(outside)):
            parse(str(outside))


@pytest.mark.parametrize("name", [name for name in KEYS if "enum" in of_setting(KEYS[name].kind)])
def test_the_schema_has_the_words_of_a_setting(name: str) -> None:
    words, parse = of_setting(KEYS[name].kind)["enum"], KEYS[name].kind.parse
    assert KEYS[name].default in words
    named = KEYS[name].kind.valid.removeprefix("one of ").removesuffix(", or nothing")
    assert set(words) >= set(named.split(", "))
    assert [parse(str(each).lower()) for each in words] == [parse(str(each)) for each in words]
    with pytest.raises(ValueError, match="loud"):
        parse("loud")


def test_the_schema_accepts_every_schedule_and_refuses_another_form() -> None:
    schema, check = of_limit(INITIAL["reassignment.schedule"]), INITIAL["reassignment.schedule"].check
    for text in SCHEDULES:
        assert check(text, host_zone) is None
        assert accepts(schema, text), text
    assert [text for text in NO_SCHEDULES if accepts(schema, text)] == []


def test_the_keys_are_those_that_a_gateway_accepts() -> None:
    config = definitions()["config"].keys()
    assert config >= INITIAL.keys()
    assert KEYS.keys() - config == LISTENER_KEYS.keys()
    gateway = [
        Assignment("backend", "upstream", ""),
        Assignment("upstream.bootstrap.servers", "kafka:9092", ""),
    ]
    for name in LISTENER_KEYS:
        with pytest.raises(ConfigError, match="for the embedded cluster only"):
            resolve([*gateway, Assignment(name, KEYS[name].default, "")])


def test_a_limit_of_which_the_default_is_none_has_a_range() -> None:
    assert of_limit(BROKER_KEYS[UNLIMITED]) == {"type": "integer", "minimum": 1, "maximum": 2**63 - 1}


def test_the_rest_of_the_schema_is_kept() -> None:
    schema = rewritten(EMPTY)
    assert schema.startswith('{\n    "config": {\n')
    assert '"listener": {"$ref": "#/definitions/setting"}' in schema
    assert rewritten(schema) == schema


def test_a_schema_without_the_definitions_is_an_error() -> None:
    with pytest.raises(ValueError, match="one definition"):
        rewritten("{}")


DEFINITIONS = {
    "v1.Thing": {
        "type": "object",
        "properties": {"size": {"$ref": "#/definitions/v1.Size"}},
        "x-kubernetes-group-version-kind": [{"group": "apps.k8s.io", "kind": "Thing", "version": "v1"}],
    },
    "v1.Size": {"type": "integer"},
}


def test_a_kind_has_a_schema_under_the_name_that_kubeconform_looks_for(tmp_path: Path) -> None:
    write_schemas(DEFINITIONS, tmp_path)
    schema = json.loads((tmp_path / "thing-apps-v1.json").read_text())
    assert schema == {"$ref": "_definitions.json#/definitions/v1.Thing"}


def test_unknown_fields_of_objects_are_refused() -> None:
    assert strict("v1.Thing", DEFINITIONS["v1.Thing"])["additionalProperties"] is False
    assert "additionalProperties" not in strict("v1.Size", DEFINITIONS["v1.Size"])


def test_a_port_is_a_number_or_a_name() -> None:
    assert strict("io.k8s.apimachinery.pkg.util.intstr.IntOrString", {"type": "string"})["type"] == [
        "string",
        "integer",
    ]
