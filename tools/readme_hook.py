"""Writes the project description of the wheel: the README without links to files of the repository.

A package index shows the description without the repository, so relative links would lead nowhere. Each is replaced by its
text and the file's path, which the source distribution has. Absolute links stay. Hatchling loads this file by its path, so it
imports nothing of this repository.
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
