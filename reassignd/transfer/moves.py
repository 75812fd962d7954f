"""The moves: a directory into the topic and back, and a file into a new topic.

Each move can be repeated after an interruption: the source is marked as moved at the end, and a target that has the
same records already is not written again.
"""

from collections.abc import Iterable
from pathlib import Path

from msgspec import structs

from common.wording import counted
from reassignd.errors import CommandError
from reassignd.transfer.directory import existing, target
from reassignd.transfer.rows import Contents, from_lines, same, to_lines
from reassignd.transfer.topic import Topic


def export_directory(path: Path) -> Iterable[bytes]:
    """Yield the records of a directory as JSON lines. Raises CommandError."""
    with existing(path) as directory:
        yield from to_lines(directory.read().rows())


async def export_topic(topic: Topic) -> Iterable[bytes]:
    """Return the rows of the topic as JSON lines. Raises CommandError for rows of another cluster."""
    await topic.read()
    await _contents(topic)
    return to_lines(topic.rows)


async def import_directory(topic: Topic, path: Path) -> str:
    """Move the records of a directory into the topic. Returns what was done."""
    with existing(path) as directory:
        if directory.moved_to:
            return f"the records in {path} were moved to the state topic {directory.moved_to} before"
        contents = directory.read()
        if contents.meta.upstream_cluster_id != topic.cluster_id:
            raise CommandError(
                f"the records in {path} are those of cluster {contents.meta.upstream_cluster_id}, not of {topic.cluster_id}"
            )
        rows = contents.rows()
        async with topic.term() as writer:
            if not await _is_there(topic, contents):
                for entries in directory.entries():
                    await topic.append_entries(entries)
                await topic.replace(writer, rows)
        directory.mark_moved(f"{topic.name} of cluster {topic.cluster_id}")
    return f"moved {counted(len(contents.records), 'record')} from {path} to the state topic {topic.name}"


async def _is_there(topic: Topic, contents: Contents) -> bool:
    """Return whether the topic has the same. Raises CommandError if it has other records that were not moved away."""
    present = await topic.contents()
    if present is None or present.meta.moved_to:
        return False
    if await same(present, contents):
        return True
    raise CommandError(
        f"the state topic {topic.name} has records already: set state.topic to another name, or move these records to"
        " a data directory with `reassignd state export --data-dir`"
    )


async def export_to_directory(topic: Topic, path: Path) -> str:
    """Move the records of the topic to a directory; no instance uses the topic afterwards. Returns what was done."""
    with target(path) as directory:
        # Before the term: its beats would wait while the directory is read.
        written = None if directory.is_empty else directory.read()
        async with topic.term() as writer:
            contents = await _contents(topic)
            meta = contents.meta
            if meta.moved_to:
                return f"the records of the state topic {topic.name} were moved to {meta.moved_to} before"
            if written is None:
                await directory.write(contents, await topic.entries())
            elif not await same(written, contents):
                raise CommandError(f"{directory.path} has other records: choose another directory")
            moved = structs.replace(meta, moved_to=directory.name)
            await topic.write(writer, [moved.encode()])
    return f"moved the records of the state topic {topic.name} to {path}"


async def _contents(topic: Topic) -> Contents:
    contents = await topic.contents()
    if contents is None:
        raise CommandError(f"the state topic {topic.name} has no records: no instance was active yet")
    return contents


async def recreate(topic: Topic, lines: Iterable[bytes]) -> str:
    """Write the rows of `export_topic` into an empty topic. Returns what was done."""
    rows = from_lines(lines, topic.cluster_id)
    async with topic.term() as writer:
        if topic.rows:
            raise CommandError(f"the state topic {topic.name} has records already: delete the topic first")
        await topic.replace(writer, rows)
    return f"wrote {counted(len(rows), 'row')} to the state topic {topic.name}"
