"""Decodes frames of any API, for tests that know the class of the message from the API key only."""

from typing import Any

from protocol import frames
from protocol.apis import find_api
from protocol.frames import RequestFrame, ResponseFrame


def decode_request(frame: RequestFrame) -> Any:
    api = find_api(frame.api_key)
    return frames.decode_request(frame, tuple if api is None else api.request.root)


def decode_response(frame: ResponseFrame) -> Any:
    api = find_api(frame.api_key)
    assert api is not None
    return frames.decode_response(frame, api.response.root)
