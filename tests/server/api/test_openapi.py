"""The OpenAPI document agrees with the routes and their answers."""

from collections.abc import Iterator
from typing import Any

from server.api.routes import ENDPOINTS
from tests.server.api.api_client import MOVE, ApiClient, three_partitions

TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "boolean": bool,
    "null": type(None),
}


async def document() -> dict[str, Any]:
    openapi: dict[str, Any] = await ApiClient().get("/v1/openapi.json")
    return openapi


def errors(value: Any, schema: Any, components: Any, where: str = "$") -> Iterator[str]:
    """Yield where the value does not conform to the schema.

    Checks the keywords that the document uses, and unknown keys.
    """
    if "$ref" in schema:
        schema = components[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        found = [list(errors(value, each, components, where)) for each in schema["anyOf"]]
        yield from min(found, key=len)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(isinstance(value, TYPES[kind]) for kind in kinds):
        yield f"{where} is no {kinds}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is none of {schema['enum']}"
    if isinstance(value, dict) and "properties" in schema:
        yield from (f"{where} lacks {name}" for name in schema.get("required", ()) if name not in value)
        for name, inner in value.items():
            if name not in schema["properties"]:
                yield f"{where}.{name} is not in the document"
            else:
                yield from errors(inner, schema["properties"][name], components, f"{where}.{name}")
    if isinstance(value, list) and "items" in schema:
        for number, inner in enumerate(value):
            yield from errors(inner, schema["items"], components, f"{where}[{number}]")


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


async def test_the_document_has_exactly_the_routes() -> None:
    paths = (await document())["paths"]
    described = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert described == {(each.method, each.path) for each in ENDPOINTS}


async def test_every_path_of_the_document_is_served() -> None:
    client = ApiClient()
    for each in ENDPOINTS:
        status, answer = (
            await client.ask(each.method, each.path.replace("{job}", "1"), b"{}")
            if not each.lines and not each.media_type
            else (
                200,
                {},
            )
        )
        assert "there is no /v1" not in answer.get("error", ""), each.path
        assert status != 405


async def test_every_operation_names_its_role() -> None:
    for path, methods in (await document())["paths"].items():
        for method, operation in methods.items():
            role = "viewer" if method == "get" or path.endswith(("/review", "/preview")) else "operator"
            assert operation["security"] == [{}, {"token": [role]}, {"certificate": [role]}]


async def test_every_reference_has_its_component() -> None:
    openapi = await document()
    known = {f"#/components/schemas/{name}" for name in openapi["components"]["schemas"]}
    assert set(references(openapi)) <= known


async def test_operation_ids_are_unique() -> None:
    openapi = await document()
    names = [each["operationId"] for methods in openapi["paths"].values() for each in methods.values()]
    assert len(set(names)) == len(names)


async def test_answers_conform_to_the_document() -> None:
    client, openapi = ApiClient(three_partitions(partitions=1)), await document()
    components = openapi["components"]["schemas"]
    asked = [
        ("POST", "/v1/jobs", MOVE),
        ("POST", "/v1/jobs?queue=true", {"partitions": [{"topic": "foo", "partition": 2, "replicas": [4]}]}),
        ("GET", "/v1/status", None),
        ("GET", "/v1/whoami", None),
        ("GET", "/v1/jobs", None),
        ("GET", "/v1/jobs/{job}", None),
        ("GET", "/v1/reassignments", None),
        ("GET", "/v1/queue", None),
        ("PUT", "/v1/limits", {"P": 2}),
        ("POST", "/v1/jobs/{job}/priority", {"priority": 1}),
        ("POST", "/v1/jobs/{job}/throttle", {"throttle": 1}),
        ("POST", "/v1/jobs/{job}/pause", None),
        ("POST", "/v1/jobs/{job}/resume", None),
        ("POST", "/v1/jobs/{job}/rollback", None),
        ("POST", "/v1/reassignments/cancel", {"all": True}),
        ("POST", "/v1/pause", None),
        ("POST", "/v1/resume", None),
    ]
    for method, path, body in asked:
        status, answer = await client.ask(method, path.replace("{job}", "1"), body)
        operation = openapi["paths"][path.partition("?")[0]][method.lower()]
        [content] = operation["responses"][str(status)]["content"].values()
        assert list(errors(answer, content["schema"], components)) == [], path
