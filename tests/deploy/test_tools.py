"""The wheel as a tool of its own: `uv tool install` and `pipx install`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reassignd import __version__
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
        (
            ["uv", "tool", "install", "--python", sys.executable],
            {"UV_TOOL_DIR": "home", "UV_TOOL_BIN_DIR": "bin"},
        ),
        (["pipx", "install"], {"PIPX_HOME": "home", "PIPX_BIN_DIR": "bin"}),
    ],
    ids=["uv", "pipx"],
)
def test_it_is_installed_as_a_tool(
    command: list[str], variables: dict[str, str], wheel: Path, tmp_path: Path
) -> None:
    environment = {**os.environ, **{name: str(tmp_path / folder) for name, folder in variables.items()}}
    installer = Path(sys.executable).with_name(command[0])
    subprocess.run([installer, *command[1:], wheel], env=environment, check=True, capture_output=True)
    shown = subprocess.run(
        [tmp_path / "bin" / "reassignd", "--version"], capture_output=True, text=True, check=True
    )
    assert shown.stdout == f"reassignd {__version__}\n"
