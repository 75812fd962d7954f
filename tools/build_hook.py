"""Build the wheel with one import root.

The folders at the top of the repository become packages of `reassignd`.

The source tree has `server/`, `controller/` and so on beside `reassignd/`. Installed under these names, they
would shadow packages of the same name in the projects of users. The hook copies each module to
`reassignd/<folder>/` and rewrites its import statements: `from server.http.server import x` becomes
`from reassignd.server.http import x`. Editable installs use the source tree as it is. Hatchling loads this
file by its path, so it imports nothing of this repository.
"""

import ast
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT_PACKAGE = "reassignd"
FOLDERS = ("backends", "common", "controller", "planner", "protocol", "server")


class ImportRootHook(BuildHookInterface[Any]):
    """Hatchling's `custom` build hook of the wheel target; see the module."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the rewritten packages to the files of a standard wheel."""
        if version != "standard":
            return
        self._folder = Path(tempfile.mkdtemp(prefix="reassignd-wheel-"))
        for source, target in mapped(Path(self.root), self._folder):
            build_data["force_include"][str(source)] = target

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the rewritten copies."""
        if version == "standard":
            shutil.rmtree(self._folder)


def mapped(root: Path, scratch: Path) -> Iterator[tuple[Path, str]]:
    """Yield (file, path in the wheel) for every file to install.

    Rewritten modules are written below `scratch`.
    """
    for folder in (ROOT_PACKAGE, *FOLDERS):
        for path in sorted((root / folder).rglob("*")):
            if not path.is_file() or "__pycache__" in path.parts:
                continue
            inside = path.relative_to(root)
            target = inside if folder == ROOT_PACKAGE else Path(ROOT_PACKAGE) / inside
            yield (_rewritten(path, scratch / inside) if path.suffix == ".py" else path), target.as_posix()


def _rewritten(path: Path, copy: Path) -> Path:
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(rewrite(path.read_text("utf-8"), path.as_posix()), "utf-8")
    return copy


def rewrite(source: str, name: str) -> str:
    """Return the source of a module with its imports of our folders below the root package.

    Raises ValueError for `import server.http.server`: the names that it binds could not stay the same.
    """
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source, name)):
        if isinstance(node, ast.Import):
            plain = [alias.name for alias in node.names if alias.name.partition(".")[0] in FOLDERS]
            if plain:
                raise ValueError(
                    f"{name}:{node.lineno}: write `from ... import ...` instead of `import {plain[0]}`"
                )
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in FOLDERS:
            # The module's name is on the line of `from`, and a line has one such statement.
            index = node.lineno - 1
            lines[index] = lines[index].replace(
                f"from {node.module}", f"from {ROOT_PACKAGE}.{node.module}", 1
            )
    return "".join(lines)
