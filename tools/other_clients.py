"""Clients of other languages for the tests: `python -m tools.other_clients` builds those whose language is installed.

Their versions are pinned in `tests/clients/go/go.mod` and `tests/clients/node/package-lock.json`. What is built is kept in
the git-ignored `.cache/clients`. A client whose language is not installed is left out, and one line says so.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "clients"
CACHE = ROOT / ".cache" / "clients"
GO_TOUR = CACHE / "go-tour"
NODE_MODULES = CACHE / "node" / "node_modules"


class LeftOutError(Exception):
    """These clients cannot be built here; the message says why."""


def build_go() -> None:
    """Build the tour of the Go clients. Go's own cache makes a second build cheap."""
    go = _find("go", "/usr/local/go/bin")
    _run([go, "build", "-o", str(GO_TOUR), "."], SOURCES / "go")


def build_node() -> None:
    """Install the packages that the lock file names, unless they are there already."""
    npm = _find("npm")
    _find("node")
    folder = NODE_MODULES.parent
    lock = SOURCES / "node" / "package-lock.json"
    if NODE_MODULES.exists() and (folder / lock.name).read_bytes() == lock.read_bytes():
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", lock.name):
        shutil.copyfile(SOURCES / "node" / name, folder / name)
    _run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], folder)


BUILDERS = {"sarama, franz-go and kafka-go": build_go, "kafkajs": build_node}


def main() -> int:
    """Build what can be built; never fails, since a machine without these languages runs the other tests."""
    CACHE.mkdir(parents=True, exist_ok=True)
    for clients, build in BUILDERS.items():
        try:
            build()
        except LeftOutError as reason:
            print(f"left out of the client tests: {clients} ({reason})", file=sys.stderr)
    return 0


def _find(program: str, *folders: str) -> str:
    """The path of an installed program. Raises LeftOutError."""
    found = shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", ""), *folders]))
    if found is None:
        raise LeftOutError(f"{program} is not installed")
    return found


def _run(command: list[str], folder: Path) -> None:
    """Raises LeftOutError with the last line of what a failing command says."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().rpartition("\n")[-1]
        raise LeftOutError(f"{' '.join(command[:2])}: {said}")


if __name__ == "__main__":
    sys.exit(main())
