import json
from pathlib import Path

from tools.kubernetes import strict, write_schemas

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
