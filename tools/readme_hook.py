"""Write the project description of the wheel: the README without links to files of the repository.

A package index has the description, but not the files, so relative links would be broken. Each is replaced by
its text and the path of the file in the source distribution. Absolute links stay. Hatchling loads this file
by its path, so it imports nothing of this repository.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE_LINK = re.compile(r"\[([^\]]+)\]\((?![a-z]+:|#)([^)#]+)(?:#[^)]*)?\)")
_IMAGE = re.compile(r"!\[[^\]]*\]\((?![a-z]+:)[^)]*\)\n?")


class ReadmeHook(MetadataHookInterface):
    """Hatchling's `custom` metadata hook; see the module."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the field `readme`."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": without_relative_links(text)}


def without_relative_links(text: str) -> str:
    """Return the Markdown text with `text (path)` for each link to a file."""
    return _RELATIVE_LINK.sub(r"\1 (`\2`)", _IMAGE.sub("", text))
