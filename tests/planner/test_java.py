import os
import subprocess
from pathlib import Path

import pytest

from common.plan_errors import PlanError
from planner.spark import java_for_spark


def fake_java(home: Path, version: str, modules: str) -> None:
    """A `java` that prints its version and modules, or else its arguments."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/sh\n"
        f"case $1 in -version) echo 'openjdk version \"{version}\"' >&2;; --list-modules) echo {modules};;"
        ' *) echo "$@";; esac\n'
    )
    java.chmod(0o755)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    return tmp_path / "jdk"


def test_a_java_with_the_optional_module_is_not_wrapped(home: Path) -> None:
    fake_java(home, "17.0.2", "jdk.incubator.vector@17")
    with java_for_spark():
        assert os.environ["JAVA_HOME"] == str(home)


def test_a_smaller_java_is_spared_the_module_that_it_lacks(home: Path) -> None:
    fake_java(home, "25", "java.base@25")
    with java_for_spark():
        command = [f"{os.environ['JAVA_HOME']}/bin/java", "-x", "--add-modules=jdk.incubator.vector", "a b"]
        assert subprocess.check_output(command) == b"-x a b\n"  # noqa: S603 - the test's own


def test_java_home_is_put_back(home: Path) -> None:
    fake_java(home, "25", "java.base@25")
    with java_for_spark():
        assert os.environ["JAVA_HOME"] != str(home)
    assert os.environ["JAVA_HOME"] == str(home)


def test_a_java_on_the_path_is_found(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(home, "21", "jdk.incubator.vector@21")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(home / "bin"), prepend=os.pathsep)
    with java_for_spark():
        assert os.environ["JAVA_HOME"] == str(home)
    assert "JAVA_HOME" not in os.environ


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_402", "nothing"])
def test_an_old_java_is_refused(home: Path, version: str) -> None:
    fake_java(home, version, "")
    with pytest.raises(PlanError, match="too old for Spark: install Java 17 or later"), java_for_spark():
        pass


def test_without_java_the_error_names_the_required_version(home: Path) -> None:
    assert not home.exists()
    with (
        pytest.raises(PlanError, match="Spark needs Java 17 or later, which was not found"),
        java_for_spark(),
    ):
        pass
