"""Build the Go and Node.js clients of the tests, if these languages are installed.

`python -m tools.other_clients`.

Versions are pinned in `tests/clients/go/go.mod` and `tests/clients/node/package-lock.json`. The results are
in `.cache/clients`. If a language is not installed, its clients are skipped with one line on stderr.
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
    """Install the packages of the lock file, unless they are installed."""
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
    """Build the clients. Always returns 0, since the other tests run without these languages."""
    CACHE.mkdir(parents=True, exist_ok=True)
    for clients, build in BUILDERS.items():
        try:
            build()
        except LeftOutError as reason:
            print(f"left out of the client tests: {clients} ({reason})", file=sys.stderr)
    return 0


def _find(program: str, *folders: str) -> str:
    """Return the path of an installed program. Raises LeftOutError."""
    found = shutil.which(program, path=os.pathsep.join([os.environ.get("PATH", ""), *folders]))
    if found is None:
        raise LeftOutError(f"{program} is not installed")
    return found


def _run(command: list[str], folder: Path) -> None:
    """Run the command. Raises LeftOutError with the last line of its output if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        last_line = (done.stderr or done.stdout).strip().rpartition("\n")[-1]
        raise LeftOutError(f"{' '.join(command[:2])}: {last_line}")


if __name__ == "__main__":
    sys.exit(main())
