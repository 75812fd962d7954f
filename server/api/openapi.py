"""The OpenAPI 3.1 document, made from the table of endpoints and the models."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args, get_origin

import msgspec
from msgspec import Meta

from server.api.shared.call import Endpoint
from server.api.shared.models import Error

NAMES_IN_PATH = re.compile(r"{(\w+)}")
TEXTS_IN_PATH = frozenset({"topic"})
"""Names in paths that stand for texts; the others stand for numbers."""
REFERENCE = "#/components/schemas/{name}"

Schema = Mapping[str, Any]


def document(version: str, endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the document: every endpoint with its parameters, its body and its answer."""
    models: list[object] = [Error]
    for each in endpoints:
        models += [model for model in (each.gives, each.takes) if model is not None and model not in models]
    schemas, components = _schemas(models)
    paths: dict[str, dict[str, Any]] = {}
    for each in endpoints:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "reassignd", "version": version},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "certificate": {"type": "mutualTLS"},
            },
        },
    }


def model_name(model: object) -> str:
    """Return the model's name in the OpenAPI document: the class's, or the title of an annotated type."""
    for meta in get_args(model)[1:] if get_origin(model) is not None else ():
        if isinstance(meta, Meta) and meta.title is not None:
            return meta.title
    return model.__name__ if isinstance(model, type) else str(model)


def _schemas(models: Sequence[object]) -> tuple[Mapping[str, Schema], dict[str, Schema]]:
    """Return a reference to each model by its name, and the components that they refer to."""
    schemas, components = msgspec.json.schema_components(models, ref_template=REFERENCE)
    references: dict[str, Schema] = {}
    for model, schema in zip(models, schemas, strict=True):
        name = model_name(model)
        if "$ref" not in schema:
            # msgspec makes components of classes only, not of annotated types.
            components[name] = schema
        references[name] = {"$ref": REFERENCE.format(name=name)}
    return references, components


def _operation(each: Endpoint, schemas: Mapping[str, Schema]) -> dict[str, Any]:
    kind = each.media_type or ("application/jsonl" if each.lines else "application/json")
    operation: dict[str, Any] = {
        "operationId": f"{each.handle.__module__.rpartition('.')[2]}.{each.handle.__name__}",
        "summary": each.summary,
        # Without a scheme: local users. The names in the lists are roles, as OpenAPI 3.1 permits.
        "security": [{}, {"token": [each.role.label]}, {"certificate": [each.role.label]}],
        "responses": {
            str(each.status): {
                "description": "Done.",
                "content": {kind: {"schema": schemas[model_name(each.gives)]}},
            },
            "default": {
                "description": "Refused.",
                "content": {"application/json": {"schema": schemas[model_name(Error)]}},
            },
        },
    }
    parameters = [*_in_path(each.path), *_in_query(each)]
    if parameters:
        operation["parameters"] = parameters
    if each.takes is not None:
        content = {"application/json": {"schema": schemas[model_name(each.takes)]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _in_path(path: str) -> Iterable[dict[str, Any]]:
    for name in NAMES_IN_PATH.findall(path):
        kind = "string" if name in TEXTS_IN_PATH else "integer"
        yield {"name": name, "in": "path", "required": True, "schema": {"type": kind}}


def _in_query(each: Endpoint) -> Iterable[dict[str, Any]]:
    if each.query is None:
        return
    _, components = msgspec.json.schema_components([each.query])
    for name, schema in components[each.query.__name__]["properties"].items():
        if "$ref" in schema:
            # The components of the document are those of bodies and answers: declare an enumeration in place.
            schema["enum"] = components[schema.pop("$ref").rpartition("/")[2]]["enum"]
        described = {"description": schema.pop("description")} if "description" in schema else {}
        yield {"name": name, "in": "query", **described, "schema": schema}
