"""The time zones of this host. The controller gets them at construction: it reads no files."""

from datetime import tzinfo
from zoneinfo import ZoneInfo


def host_zone(name: str) -> tzinfo | None:
    """Return the zone of the IANA database, from the host's files or the package tzdata; None if unknown."""
    # Names that are paths, directories or not ASCII raise other errors than unknown ones.
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return None
