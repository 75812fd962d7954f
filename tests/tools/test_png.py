"""Pictures with few colors."""

import struct
import zlib

import pytest

from tools.png import SIGNATURE, with_few_colors

RED, GREEN, BLUE, ALMOST_RED = b"\xff\0\0", b"\0\xff\0", b"\0\0\xff", b"\xfe\0\0"


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def picture(width: int, *lines: bytes, depth: int = 8) -> bytes:
    """An RGB picture; each line begins with the number of its filter."""
    header = struct.pack(">IIBBBBB", width, len(lines), depth, 2, 0, 0, 0)
    body = zlib.compress(b"".join(lines))
    return SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def pixels(data: bytes) -> list[list[bytes]]:
    """The colors of a picture with a palette, of which no line has a filter."""
    width, height = struct.unpack_from(">II", data, 16)
    palette, body = (data.index(name) for name in (b"PLTE", b"IDAT"))
    raw = zlib.decompress(data[body + 4 :])
    rows = [raw[at * (width + 1) + 1 : (at + 1) * (width + 1)] for at in range(height)]
    return [[data[palette + 4 + 3 * n : palette + 7 + 3 * n] for n in row] for row in rows]


def test_a_picture_with_few_colors_stays_the_same() -> None:
    data = picture(2, b"\0" + RED + GREEN, b"\0" + BLUE + RED)
    assert pixels(with_few_colors(data)) == [[RED, GREEN], [BLUE, RED]]


def test_a_rare_color_becomes_the_nearest_frequent_one() -> None:
    data = picture(5, b"\0" + RED * 2 + GREEN * 2 + ALMOST_RED)
    assert pixels(with_few_colors(data, colors=2)) == [[RED, RED, GREEN, GREEN, RED]]


@pytest.mark.parametrize(
    ("kind", "second"),
    [
        (1, b"\0\0\xff" + b"\0\xff\x01"),
        (2, b"\x01\0\xff" + b"\0\0\0"),
        (3, b"\x81\0\xff" + b"\0\x80\x81"),
        (4, b"\x01\0\xff" + b"\0\0\0"),
    ],
    ids=["sub", "up", "average", "paeth"],
)
def test_each_filter_of_a_line_is_undone(kind: int, second: bytes) -> None:
    data = picture(2, b"\0" + RED + GREEN, bytes([kind]) + second)
    found = pixels(with_few_colors(data))
    assert found[0] == [RED, GREEN]
    assert found[1][0] == BLUE


def test_other_kinds_of_pictures_are_refused() -> None:
    with pytest.raises(ValueError, match="8 bits per channel"):
        with_few_colors(picture(1, b"\0\0\0\0\0\0\0", depth=16))
