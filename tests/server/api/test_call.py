"""Bodies and rows of a request."""

from collections.abc import AsyncIterator

import pytest

from server.api import call
from server.api.call import pages, parse
from server.api.errors import ApiError
from tests.server.api.desk import MOVE, Desk


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "not JSON: Expecting value: line 1 column 1 (char 0)"),
        (b"{", "not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b'{"a": 1, "a": 2}', "not JSON: the key 'a' comes twice in one object"),
        (b'{"a": NaN}', "not JSON: NaN is no JSON number"),
        (b"[" * 100_000, "not JSON that can be read: nested too deep"),
    ],
)
def test_what_is_no_json_is_refused(data: bytes, text: str) -> None:
    with pytest.raises(ApiError) as caught:
        parse(data)
    assert (caught.value.status, str(caught.value)) == (400, text)


@pytest.mark.parametrize("data", [b"\xff\xfe{", b'"' + b"\xc3" + b'"', b"1" * 5000])
def test_bytes_that_python_cannot_read_are_refused(data: bytes) -> None:
    with pytest.raises(ApiError, match="not JSON"):
        parse(data)


async def test_a_body_that_says_it_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call, "MAX_BODY", 10)
    status, text = await Desk().refusal("POST", "/v1/jobs", MOVE)
    assert (status, text) == (413, "the body is larger than 10 bytes; send the plan in parts")


async def test_a_body_that_grows_too_large_is_read_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call, "MAX_BODY", 10)

    async def chunks() -> AsyncIterator[bytes]:
        while True:
            yield b"12345678"

    response = await Desk().raw("POST", "/v1/jobs", content=chunks())
    assert response.status_code == 413


def test_a_page_leaves_out_rows_and_not_what_was_looked_at_in_vain() -> None:
    assert list(pages(2, iter([1, None, 2, 3, None, 4]))) == [None, None, None, 3, None, 4]
