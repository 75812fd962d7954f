"""The files that a proposal is written to."""

from pathlib import Path
from typing import NamedTuple

from reassignd.config.errors import CommandError


class Files(NamedTuple):
    """Where the plan and its rollback are written; None: nowhere."""

    output: Path | None
    rollback_file: Path | None

    def write(self, plan: str, rollback: str) -> None:
        """Raises CommandError."""
        for path, text in zip(self, (plan, rollback), strict=True):
            if path is not None:
                _write(path, text)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text + "\n", "utf-8")
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from error
