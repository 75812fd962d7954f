import msgspec
import pytest

from common.json.foreign import decode_foreign

DEEP = b"[" * 5_000 + b"]" * 5_000
ANY = msgspec.json.Decoder(dict[str, object])


def test_json_is_decoded() -> None:
    assert decode_foreign(b'{"a":[1]}', ANY) == {"a": [1]}


@pytest.mark.parametrize("text", [b"", b"[1]", b'{"a":' + DEEP + b"}"])
def test_what_cannot_be_decoded_is_one_kind_of_error(text: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_foreign(text, ANY)
