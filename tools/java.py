"""Java for tests and benchmarks: finds Java, and downloads Kafka's jars by their Maven coordinates.

Each file `tools/ivy/NAME.xml` describes a class path for Apache Ivy, which is one of PySpark's jars. The
class path is downloaded once to `.cache/java/NAME`, and again when the file changes. `python -m tools.java
[NAME ...]` downloads class paths before tests run side by side.

Beside the jars are programs of ours, compiled once, and an archive of the classes that each program loads
(class data sharing): a tool starts with a sixth of the CPU time, and a broker with half of it.
"""

import atexit
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IVY_FILES = ROOT / "tools" / "ivy"
CACHE = (ROOT / ".cache" / "java").resolve()
LEAST_VERSION = 17

QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xlog:disable")
"""JVM options for programs that run for seconds: less time for start and compilation.

An archive that does not fit is ignored without a warning.
"""

BROKER = "kafka.Kafka"
"""Main class of a broker."""


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
    if int(_version(found).partition(".")[0]) < LEAST_VERSION:
        raise JavaError(
            f"{found} is too old (version {_version(found)}): JDK {LEAST_VERSION} or later is needed"
        )
    return Path(found)


@cache
def _version(java: str) -> str:
    """Return the version of this `java`, or "0"."""
    output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "([\d.]+)', output)
    return version.group(1) if version else "0"


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
    jars = class_path(name)
    program = arguments[0] if arguments else ""
    if program.endswith(".java"):
        jar = compiled(name, Path(program))
        jars, arguments = f"{jar}:{jars}", (Path(program).stem, *arguments[1:])
        program = jar.stem
    if program and set(QUICK_START) <= set(options):
        options = (*options, *_archive_options(class_archive(name, program)))
    return [str(find_java()), *options, f"-Xmx{heap_mb}m", "-cp", jars, *arguments]


def compiled(name: str, source: Path) -> Path:
    """Return a jar with the classes of a .java file. It is compiled if there is none for this source."""
    folder = own_files(name)
    jar = folder / f"{source.stem}-{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}.jar"
    if jar.exists():
        return jar
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        jars = ":".join(map(str, (CACHE / name).glob("*.jar")))
        compiler = ["-m", "jdk.compiler/com.sun.tools.javac.Main", "-proc:none", "-cp", jars]
        subprocess.run([str(find_java()), *QUICK_START, *compiler, "-d", temporary, str(source)], check=True)
        made = Path(temporary, jar.name)
        with zipfile.ZipFile(made, "w") as archive:
            for each in Path(temporary).glob("*.class"):
                archive.write(each, each.name)
        # Another process may have been faster. The archive of its classes is for that very file.
        with suppress(FileExistsError):
            jar.hardlink_to(made)
    return jar


def class_archive(name: str, program: str) -> Path:
    """Return the path of the archive of the classes that a main class or a jar of ours loads."""
    return own_files(name) / f"{program}.jsa"


def is_complete(archive: Path) -> bool:
    """Return whether a JVM has written all of an archive: it writes the first bytes last."""
    try:
        with archive.open("rb") as file:
            return any(file.read(4))
    except FileNotFoundError:
        return False


def _archive_options(archive: Path) -> tuple[str, ...]:
    """Return the options to use an archive, or to write it when the program ends by itself or by SIGTERM."""
    if is_complete(archive):
        return (f"-XX:SharedArchiveFile={archive}",)
    return (f"-XX:ArchiveClassesAtExit={archive}",)


def own_files(name: str) -> Path:
    """Return the folder of what is made with a class path and this `java`; temporary if we cannot write."""
    class_path(name)
    folder = CACHE / name / _version(str(find_java()))
    try:
        folder.mkdir(exist_ok=True)
    except OSError:
        return _temporary_folder(name)
    return folder if os.access(folder, os.W_OK) else _temporary_folder(name)


@cache
def _temporary_folder(name: str) -> Path:
    folder = tempfile.TemporaryDirectory(prefix=f"{name}-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _resolve(description: Path, folder: Path) -> None:
    pattern = f"{folder}/[artifact]-[revision](-[classifier]).[ext]"
    ivy = ["-cache", str(CACHE / "ivy"), "-ivy", str(description), "-confs", "default", "-retrieve", pattern]
    done = subprocess.run(
        [str(find_java()), *QUICK_START, "-jar", str(_ivy_jar()), *ivy],
        capture_output=True,
        text=True,
        check=False,
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
    """Download the named class paths, or all. Return 1, and print one line on stderr, if that fails."""
    names = sys.argv[1:] or sorted(description.stem for description in IVY_FILES.glob("*.xml"))
    CACHE.mkdir(parents=True, exist_ok=True)
    try:
        find_java()
        for name in names:
            class_path(name)
    except JavaError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
