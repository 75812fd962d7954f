"""Java for tests and benchmarks: finds Java, and downloads Kafka's jars by their Maven coordinates.

Each file `tools/ivy/NAME.xml` describes a class path for Apache Ivy, which is one of PySpark's jars. The
class path is downloaded once to `.cache/java/NAME`, and again when the file changes. `python -m tools.java`
downloads all class paths.
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
"""JVM options for programs that run for seconds: less time for start and compilation."""


class JavaError(Exception):
    """Java or a class path is not available. The message is one line with the remedy."""


@cache
def find_java() -> Path:
    """Return the `java` of JAVA_HOME, else of PATH.

    Raises JavaError if it is missing or older than LEAST_VERSION.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else None)
    if found is None:
        raise JavaError(f"no java found: install a JDK {LEAST_VERSION} or later, or set JAVA_HOME")
    output = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', output)
    if version is None or int(version.group(1)) < LEAST_VERSION:
        first_line = output.partition("\n")[0]
        raise JavaError(f"{found} is too old ({first_line}): JDK {LEAST_VERSION} or later is needed")
    return Path(found)


def class_path(name: str) -> str:
    """Return the class path that `tools/ivy/NAME.xml` describes. Downloads its jars if necessary."""
    folder = CACHE / name
    description = IVY_FILES / f"{name}.xml"
    stamp = folder / ".resolved"
    fingerprint = hashlib.sha256(description.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != fingerprint:
        print(f"downloading the jars of {name} (once)", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        _resolve(description, folder)
        stamp.write_text(fingerprint)
    return f"{folder}/*"


def java_command(
    name: str, *arguments: str, heap_mb: int = 128, options: Sequence[str] = QUICK_START
) -> list[str]:
    """Return the command line for a main class or .java file and its arguments, with a class path."""
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
            f"the jars of {description.name} cannot be downloaded, see {log};"
            " set JAVA_TOOL_OPTIONS if a proxy or a private certificate authority is required"
        )


def _ivy_jar() -> Path:
    spark = importlib.util.find_spec("pyspark")
    if spark is None or spark.origin is None:
        raise JavaError("PySpark, which includes Ivy, is not installed: run `make setup`")
    return next(Path(spark.origin).parent.glob("jars/ivy-*.jar"))


def main() -> int:
    """Download every class path. Return 1, and print one line on stderr, if that fails."""
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
