"""PNG files with few colors: a picture of a page is smaller with a palette than with 24 bits per pixel.

Source: PNG (Portable Network Graphics) Specification, third edition, W3C.
"""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLORS = 64
"""Entries of the palette. A page has about 20 colors; the others are the edges of letters."""
CHANNELS = {2: 3, 6: 4}
"""Bytes of a pixel, by color type: RGB, and RGB with alpha."""


def with_few_colors(data: bytes, colors: int = COLORS) -> bytes:
    """Return the picture with its most frequent colors only; other pixels get the nearest one of these.

    The picture has 8 bits per channel and is not interlaced, as Chromium writes it. Alpha is left out.
    """
    chunks = list(_chunks(data))
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[0][1])
    if depth != 8 or kind not in CHANNELS or interlaced:
        raise ValueError("expected a PNG with 8 bits per channel, in RGB or RGBA, not interlaced")
    size = CHANNELS[kind]
    raw = zlib.decompress(b"".join(body for name, body in chunks if name == b"IDAT"))
    lines = [
        [line[at : at + 3] for at in range(0, width * size, size)]
        for line in _lines(raw, width * size, height, size)
    ]
    counted = Counter(pixel for line in lines for pixel in line)
    palette = [color for color, _ in counted.most_common(colors)]
    place = {color: _nearest(color, palette) for color in counted}
    body = b"".join(b"\0" + bytes(place[pixel] for pixel in line) for line in lines)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    return (
        SIGNATURE
        + _chunk(b"IHDR", header)
        + _chunk(b"PLTE", b"".join(palette))
        + _chunk(b"IDAT", zlib.compress(body, 9))
        + _chunk(b"IEND", b"")
    )


def _nearest(color: bytes, palette: list[bytes]) -> int:
    def distance(place: int) -> int:
        return sum((one - other) ** 2 for one, other in zip(color, palette[place], strict=True))

    return min(range(len(palette)), key=distance)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at < len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        yield name, data[at + 8 : at + 8 + size]
        at += 12 + size


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def _lines(raw: bytes, width: int, height: int, size: int) -> Iterator[bytes]:
    """Yield the lines without their filters (section 9 of the specification); `width` is in bytes."""
    above = bytes(width)
    for number in range(height):
        at = number * (width + 1)
        above = _unfiltered(raw[at], raw[at + 1 : at + 1 + width], above, size)
        yield above


def _unfiltered(kind: int, line: bytes, above: bytes, size: int) -> bytes:
    if kind == 0:
        return line
    found = bytearray(size) + line
    corners = bytes(size) + above
    for at, up in enumerate(above):
        left, corner = found[at], corners[at]
        expected = (left, up, (left + up) // 2, _paeth(left, up, corner))[kind - 1]
        found[at + size] = (found[at + size] + expected) & 255
    return bytes(found[size:])


def _paeth(left: int, up: int, corner: int) -> int:
    estimate = left + up - corner
    return min((left, up, corner), key=lambda each: abs(estimate - each))
