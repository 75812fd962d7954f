"""The wheel has one import root."""

import os
import subprocess
import sys
import textwrap
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from reassignd import __version__
from tests.tools.pip import pip
from tools.build_hook import FOLDERS, rewrite

ROOT = Path(__file__).parents[2]
NEIGHBOURS = ("server", "protocol", "controller", "planner", "backends", "common")


def test_imports_of_our_folders_get_the_import_root() -> None:
    source = "import os\nfrom server.http import x\nfrom reassignd.app import y\nfrom serverless import z\n"
    assert rewrite(source, "m.py") == (
        "import os\nfrom reassignd.server.http import x\nfrom reassignd.app import y\nfrom serverless import"
        " z\n"
    )


def test_an_import_inside_a_function_is_rewritten_and_text_is_not() -> None:
    source = 'def f():\n    """from server.http import x"""\n    from planner import spark\n'
    assert rewrite(source, "m.py").splitlines()[1:] == [
        '    """from server.http import x"""',
        "    from reassignd.planner import spark",
    ]


def test_an_import_that_binds_one_of_our_folders_is_refused() -> None:
    with pytest.raises(ValueError, match=r"m\.py:1: write `from \.\.\. import"):
        rewrite("import server.http\n", "m.py")


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with only the wheel and its dependencies at run time."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    requirements = ROOT / "requirements" / "run.txt"
    wheels = ["--only-binary", ":all:", "--no-deps", "--require-hashes", "-r", str(requirements)]
    # Most of what is installed is not imported: only that is compiled.
    for what in (wheels, ["--no-deps", str(wheel)]):
        pip("--python", str(python), "install", "--quiet", "--no-compile", *what)
    return python


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A user's project, whose packages are named as our folders are."""
    for name in NEIGHBOURS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("MINE = True\n")
    return tmp_path


@pytest.mark.whole
def test_the_wheel_has_one_import_root_and_all_files(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"reassignd"}
    sources = [path for folder in ("reassignd", *FOLDERS) for path in (ROOT / folder).rglob("*.py")]
    assert len([name for name in names if name.endswith(".py")]) == len(sources)
    for name in ("py.typed", "server/page/index.html", "planner/report/report.css"):
        assert f"reassignd/{name}" in names
    # Schemas are build input; the generated modules are installed.
    assert not any("schemas" in name for name in names)


@pytest.mark.whole
def test_the_metadata_has_the_version_and_a_description_without_relative_links(wheel: Path) -> None:
    [name] = [name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("METADATA")]
    metadata = zipfile.ZipFile(wheel).read(name).decode()
    assert f"\nVersion: {__version__}\n" in metadata
    assert "\n# reassignd\n" in metadata
    assert "](docs/" not in metadata


@pytest.mark.whole
def test_the_fixture_works_beside_packages_of_the_same_names(python: Path, project: Path) -> None:
    program = """
        import asyncio, server, protocol, controller, planner, backends
        from reassignd.embedded import EmbeddedCluster

        async def main():
            async with EmbeddedCluster(brokers=3) as cluster:
                await cluster.create_topic("orders", [[1, 2], [2, 3]])
                return len(cluster.bootstrap_servers.split(","))

        assert all(m.MINE for m in (server, protocol, controller, planner, backends))
        print(asyncio.run(main()))
    """
    command = [str(python), "-E", "-W", "error", "-c", textwrap.dedent(program)]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.returncode) == ("3\n", 0), done.stderr


@pytest.mark.whole
def test_the_pytest_plugin_works_beside_packages_of_the_same_names(python: Path, project: Path) -> None:
    (project / "test_it.py").write_text(
        "import server\n\ndef test_a_topic(reassignd_cluster):\n"
        "    assert server.MINE\n    reassignd_cluster.create_topic('orders', [[1, 2]])\n"
    )
    borrowed = project / "borrowed"  # pytest alone, from the environment of this test
    borrowed.mkdir()
    for name in ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments"):
        found = find_spec(name)
        assert found is not None
        path = Path(str(found.origin))
        path = path.parent if path.name == "__init__.py" else path
        (borrowed / path.name).symlink_to(path)
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    env = {**os.environ, "PYTHONPATH": f"{borrowed}{os.pathsep}{project}"}
    done = subprocess.run(
        command, cwd=project, env=env, capture_output=True, text=True, check=False, timeout=60
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.whole
def test_the_command_works_from_the_wheel(python: Path, project: Path) -> None:
    for arguments in (["--version"], ["serve", "--help"], ["plan", "--help"], ["status", "--help"]):
        command = [str(python.with_name("reassignd")), *arguments]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
