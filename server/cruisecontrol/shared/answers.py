"""Answers of Cruise Control's API: JSON with its headers, and its form of errors."""

from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import uuid4

import msgspec
from starlette.responses import Response

VERSION = "2.5.146"
"""The version of Cruise Control whose API this is. Clients compare it with what they need."""

TASK_ID = "User-Task-ID"

JSON = "application/json; charset=utf-8"

MAX_ERROR = 2_000
"""Characters of an error message, however long the names in it are."""

_encoder = msgspec.json.Encoder()


def encode(model: object) -> bytes:
    """Return the JSON of an answer. Floats without a fraction keep their point: clients read doubles."""
    return _encoder.encode(model)


def date(milliseconds: int) -> str:
    """Return a time, in milliseconds since 1970, as Strimzi reads it in texts: `2026-11-27T15:04:05Z`."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def headers(version: str, task: str | None = None) -> dict[str, str]:
    """Return the headers of every answer; `version` is that of reassignd."""
    return {
        TASK_ID: task or str(uuid4()),
        "Cruise-Control-Version": f"{VERSION}-reassignd-{version}",
        "Cruise-Control-Commit_Id": "reassignd",
    }


def answer(body: bytes, status: int, extra: Mapping[str, str]) -> Response:
    """Return the answer with the headers."""
    return Response(body, status, dict(extra), media_type=JSON)


class ErrorAnswer(msgspec.Struct):
    """A refused request. Strict clients know these three fields only."""

    error: str = msgspec.field(name="errorMessage")
    stack_trace: str = msgspec.field(name="stackTrace", default="")
    version: int = 1


def error_body(method: str, endpoint: str, reason: str) -> bytes:
    """Return the body of a refusal."""
    line = " ".join(reason[: MAX_ERROR + 1].split())
    text = f"Error processing {method} request '/{endpoint}' due to: '{line[:MAX_ERROR]}'."
    return encode(ErrorAnswer(text))


class Message(msgspec.Struct):
    """The answer of requests that have nothing else to report."""

    message: str
    version: int = 1
