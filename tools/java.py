"""Java for tests and benchmarks: finds it, and brings Kafka's own jars by their Maven coordinates.

Each file `tools/ivy/NAME.xml` is one class path, in the language of Apache Ivy, which PySpark ships among its jars. It is
resolved once, into the git-ignored `.cache/java/NAME`, and again only when the file changes. `python -m tools.java` resolves all.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IVY_FILES = ROOT / "tools" / "ivy"
CACHE = ROOT / ".cache" / "java"
LEAST_VERSION = 17

QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
"""For programs that live for seconds: no time is spent on optimising them."""


class JavaError(Exception):
    """Java or its jars cannot be had; the message is one line that says what to do."""


@cache
def find_java() -> Path:
    """The `java` of JAVA_HOME, else of PATH. Raises JavaError where it is missing or older than 17."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else None)
    if found is None:
        raise JavaError(f"no java found: install a JDK {LEAST_VERSION} or later, or set JAVA_HOME")
    told = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', told)
    if version is None or int(version.group(1)) < LEAST_VERSION:
        first_line = told.partition("\n")[0]
        raise JavaError(f"{found} is too old ({first_line}): JDK {LEAST_VERSION} or later is needed")
    return Path(found)


def class_path(name: str) -> str:
    """The class path that `tools/ivy/NAME.xml` describes, resolved if it has not been yet."""
    folder = CACHE / name
    description = IVY_FILES / f"{name}.xml"
    stamp = folder / ".resolved"
    fingerprint = hashlib.sha256(description.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != fingerprint:
        print(f"bringing the jars of {name} (once)", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        _resolve(description, folder)
        stamp.write_text(fingerprint)
    return f"{folder}/*"


def java_command(
    name: str, *arguments: str, heap_mb: int = 128, options: Sequence[str] = QUICK_START
) -> list[str]:
    """The command line that runs `arguments` (a main class or a .java file, then its own) on a class path."""
    return [str(find_java()), *options, f"-Xmx{heap_mb}m", "-cp", class_path(name), *arguments]


def _resolve(description: Path, folder: Path) -> None:
    pattern = f"{folder}/[artifact]-[revision](-[classifier]).[ext]"
    ivy = ["-cache", str(CACHE / "ivy"), "-ivy", str(description), "-confs", "default", "-retrieve", pattern]
    done = subprocess.run(
        [str(find_java()), "-jar", str(_ivy_jar()), *ivy], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        log = CACHE / f"{folder.name}.log"
        log.write_text(done.stdout + done.stderr)
        raise JavaError(
            f"the jars of {description.name} could not be brought, see {log};"
            " behind a proxy or a private certificate set JAVA_TOOL_OPTIONS"
        )


def _ivy_jar() -> Path:
    spark = importlib.util.find_spec("pyspark")
    if spark is None or spark.origin is None:
        raise JavaError("PySpark, whose Ivy brings the jars, is not installed: run `make setup`")
    return next(Path(spark.origin).parent.glob("jars/ivy-*.jar"))


def main() -> int:
    """Resolves every class path; 1 and one line on stderr where that fails."""
    CACHE.mkdir(parents=True, exist_ok=True)
    try:
        find_java()
        for description in sorted(IVY_FILES.glob("*.xml")):
            class_path(description.stem)
    except JavaError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
