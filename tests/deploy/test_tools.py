"""The wheel as a tool of its own: `uv tool install` and `pipx install`, where these programs are installed."""

import os
import subprocess
from pathlib import Path

import pytest

from reassignd import __version__
from tests.deploy.programs import program
from tools import dist

pytestmark = [pytest.mark.whole, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    dist.packages(folder, dist.epoch())
    [built] = folder.glob("*.whl")
    return built


@pytest.mark.parametrize(
    ("command", "variables"),
    [
        (["uv", "tool", "install"], {"UV_TOOL_DIR": "home", "UV_TOOL_BIN_DIR": "bin"}),
        (["pipx", "install"], {"PIPX_HOME": "home", "PIPX_BIN_DIR": "bin"}),
    ],
    ids=["uv", "pipx"],
)
def test_it_is_installed_as_a_tool(
    command: list[str], variables: dict[str, str], wheel: Path, tmp_path: Path
) -> None:
    environment = {**os.environ, **{name: str(tmp_path / folder) for name, folder in variables.items()}}
    subprocess.run(
        [program(command[0]), *command[1:], wheel], env=environment, check=True, capture_output=True
    )
    shown = subprocess.run(
        [tmp_path / "bin" / "reassignd", "--version"], capture_output=True, text=True, check=True
    )
    assert shown.stdout == f"reassignd {__version__}\n"
