"""The OpenAPI 3.1 document, made from the table of routes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from server.api.schemas import COMPONENTS, ref
from server.api.table import Endpoint, Parameter

NAMES_IN_PATH = re.compile(r"{(\w+)}")


def document(version: str, endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Every endpoint, with what it takes and gives."""
    paths: dict[str, dict[str, Any]] = {}
    for each in endpoints:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
    return {
        "openapi": "3.1.0",
        "info": {"title": "reassignd", "version": version},
        "paths": paths,
        "components": {
            "schemas": COMPONENTS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(each: Endpoint) -> dict[str, Any]:
    kind = "application/jsonl" if each.lines else "application/json"
    refused = {"description": "Refused.", "content": _content("application/json", "Error")}
    operation: dict[str, Any] = {
        "operationId": f"{each.handle.__module__.rpartition('.')[2]}.{each.handle.__name__}",
        "summary": each.summary,
        "responses": {
            str(each.status): {"description": "Done.", "content": _content(kind, each.gives)},
            "default": refused,
        },
    }
    in_path = [_in_path(name) for name in NAMES_IN_PATH.findall(each.path)]
    if in_path or each.query:
        operation["parameters"] = in_path + [_in_query(parameter) for parameter in each.query]
    if each.takes is not None:
        operation["requestBody"] = {"required": True, "content": _content("application/json", each.takes)}
    return operation


def _content(kind: str, component: str) -> Mapping[str, Any]:
    return {kind: {"schema": ref(component)}}


def _in_path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "integer"}}


def _in_query(each: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": each.kind}
    if each.kind == "integer":
        schema |= {"minimum": each.low, "maximum": each.high}
    if each.default is not None:
        schema["default"] = each.default
    return {"name": each.name, "in": "query", "description": each.doc, "schema": schema}
