"""Our records in znodes of at most CHUNK records each, so that none nears ZooKeeper's limit of 1 MB.

`/reassignd/KIND/NUMBER` is a chunk; numbers and the rows in a chunk are in order of arrival, which is the order of loading.
A record that changes keeps its place. An empty chunk is removed.
"""

from collections.abc import Iterable, Iterator

from backends.zookeeper.session.tree import ANY, Create, Delete, Operation, Set
from backends.zookeeper.store.records import KINDS, Dropped, Kept, read_row
from backends.zookeeper.znodes import paths
from backends.zookeeper.znodes.fields import ZnodeError, decode_object, encode
from controller.model.cluster import Change, Deleted, Record

CHUNK = 200

Key = object
Address = tuple[type[Kept], int]
"""A chunk: the kind of its records, and its number."""


class Image(dict[str, bytes | None]):
    """Chunks as they shall be: path -> data, None for one that goes."""


class RecordChunks:
    """Which record is in which chunk. `apply` changes it in memory; `changed` says what to write."""

    def __init__(self) -> None:
        self._chunks: dict[Address, dict[Key, Kept]] = {}
        self._places: dict[tuple[type[Kept], Key], int] = {}
        self._last: dict[type[Kept], int] = dict.fromkeys(KINDS, 0)
        self._written: set[str] = set()
        """Paths of chunks that exist."""
        self._dirty: dict[Address, None] = {}

    @staticmethod
    def keeps(change: Change) -> bool:
        """The record is one of ours."""
        return (change.kind if isinstance(change, Deleted) else type(change)) in KINDS

    def records(self) -> Iterator[Record]:
        """The core's, kind by kind in the order of `KINDS`."""
        for kind in KINDS:
            yield from (each for each in self._of(kind) if not isinstance(each, Dropped))

    def drops(self) -> Iterator[Dropped]:
        """The notes of dropped replicas."""
        return (each for each in self._of(Dropped) if isinstance(each, Dropped))

    def _of(self, kind: type[Kept]) -> Iterator[Kept]:
        for number in sorted(number for each, number in self._chunks if each is kind):
            yield from self._chunks[kind, number].values()

    def read(self, path: str, data: bytes | None) -> None:
        """Take in a chunk that exists. Raises ZnodeError."""
        folder, _, name = path.removeprefix(f"{paths.OURS}/").partition("/")
        kind = next((each for each, known in KINDS.items() if known.folder == folder), None)
        rows = decode_object(data).get("records")
        if kind is None or not name.isdecimal() or not isinstance(rows, list):
            raise ZnodeError("it is not a chunk of records")
        number = int(name)
        records = [read_row(kind, row) for row in rows]
        self._written.add(path)
        self._chunks[kind, number] = {_key(each): each for each in records}
        self._places.update({(kind, _key(each)): number for each in records})
        self._last[kind] = max(self._last[kind], number)

    @property
    def dirty(self) -> bool:
        """Something changed since `changed` was last asked."""
        return bool(self._dirty)

    def apply(self, change: Change) -> None:
        """Put or remove a record."""
        if isinstance(change, Deleted):
            self.remove(change.kind, change.key)
        else:
            self.put(change)

    def put(self, record: Kept) -> None:
        """Insert or replace it."""
        kind = type(record)
        number = self._places.get((kind, record.key))
        if number is None:
            number = self._places[kind, record.key] = self._open(kind)
        self._chunks[kind, number][record.key] = record
        self._dirty[kind, number] = None

    def remove(self, kind: type[Kept], key: Key) -> None:
        """It need not be there."""
        number = self._places.pop((kind, key), None)
        if number is not None:
            del self._chunks[kind, number][key]
            self._dirty[kind, number] = None

    def changed(self) -> Image:
        """The chunks that changed since this was last asked."""
        image = Image()
        for address in self._dirty:
            kind, number = address
            path = f"{chunk_parent(kind)}/{number:010d}"
            rows = list(self._chunks[address].values())
            image[path] = encode({"version": 1, "records": rows}) if rows else None
            if not rows and number != self._last[kind]:
                del self._chunks[address]
        self._dirty.clear()
        return image

    def operations(self, image: Image) -> list[Operation]:
        """What makes the chunks so."""
        made: list[Operation] = []
        for path, data in image.items():
            if data is None:
                if path in self._written:
                    made.append(Delete(path))
            elif path in self._written:
                made.append(Set(path, data, ANY))
            else:
                made.append(Create(path, data))
        return made

    def written(self, image: Image) -> None:
        """It was written."""
        for path, data in image.items():
            if data is None:
                self._written.discard(path)
            else:
                self._written.add(path)

    def _open(self, kind: type[Kept]) -> int:
        """A chunk with room."""
        last = self._last[kind]
        if len(self._chunks.setdefault((kind, last), {})) >= CHUNK:
            last = self._last[kind] = last + 1
            self._chunks[kind, last] = {}
        return last


def chunk_parent(kind: type[Kept]) -> str:
    """The parent of the chunks of one kind."""
    return f"{paths.OURS}/{KINDS[kind].folder}"


def chunk_parents() -> Iterable[str]:
    """The parents of chunks."""
    return map(chunk_parent, KINDS)


def encode_image(image: Image) -> bytes:
    """Chunks in one document, to be written again after a crash."""
    return encode({path: None if data is None else data.decode() for path, data in image.items()})


def decode_image(data: bytes | None) -> Image:
    """Raises ZnodeError."""
    value = decode_object(data)
    if not all(each is None or isinstance(each, str) for each in value.values()):
        raise ZnodeError("it is not a document of chunks")
    return Image({path: None if text is None else text.encode() for path, text in value.items()})


def _key(record: Kept) -> Key:
    return record.key
