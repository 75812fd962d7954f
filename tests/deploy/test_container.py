"""The container image: built from Debian's packages, then run with a read-only root file system."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from reassignd import __version__
from tests.deploy.programs import program
from tools import dist

pytestmark = [pytest.mark.whole, pytest.mark.timeout(1200)]

BASE = "localhost/reassignd-test-base"
IMAGE = f"localhost/reassignd:{__version__}"
BASE_PYTHON = (3, 11)
"""That of Debian 12."""
PACKAGES = "python3,python3-venv,ca-certificates"
PATIENCE_SECONDS = 60


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    # Without user namespaces or cgroups of its own: builds run in a chroot.
    environment = {**os.environ, "BUILDAH_ISOLATION": "chroot"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def checked(*command: str | Path) -> str:
    done = run(*command)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def make_base(folder: Path) -> None:
    """Make the base image by debootstrap, unless it exists."""
    buildah = program("buildah")
    if run(buildah, "inspect", "--type", "image", BASE).returncode == 0:
        return
    debootstrap = program("debootstrap")
    if os.geteuid() != 0:
        pytest.skip("debootstrap needs root")
    made = run(debootstrap, "--variant=minbase", f"--include={PACKAGES}", "bookworm", folder)
    if made.returncode != 0:
        pytest.skip(f"debootstrap: {made.stdout.strip().splitlines()[-1]}")
    container = checked(buildah, "from", "scratch")
    checked(buildah, "add", container, folder, "/")
    checked(buildah, "commit", "--quiet", "--rm", container, BASE)


def podman(*arguments: str) -> list[str]:
    """Return the command; with runc where it is installed, since some machines lack crun's cgroups."""
    runc = ["--runtime", "runc"] if shutil.which("runc") else []
    return [program("podman"), *runc, "--cgroup-manager=cgroupfs", *arguments]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Build the image; wheels are fetched in the build, or before by the same version of Python."""
    program("podman")
    make_base(tmp_path_factory.mktemp("base"))
    folder = tmp_path_factory.mktemp("dist")
    dist.packages(folder, dist.epoch())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BUILDAH_ISOLATION", "chroot")
        dist.image(folder, dist.epoch(), BASE, offline=sys.version_info[:2] == BASE_PYTHON)
    return IMAGE


@contextmanager
def container(image: str, *options: str) -> Iterator[str]:
    """Run the image with a read-only root file system; yield the name of the container."""
    name = f"reassignd-test-{os.getpid()}"
    common = ["--network", "host", "--read-only", "--tmpfs", "/tmp", "--no-healthcheck"]
    limits = ["--ulimit", "nofile=1024:4096", "--ulimit", "nproc=1000:1000"]
    done = run(*podman("run", "--detach", "--name", name, *common, *limits, *options, image))
    if done.returncode != 0:
        run(*podman("rm", "--force", name))
        pytest.skip(f"podman cannot run containers here: {done.stderr.strip().splitlines()[-1]}")
    try:
        yield name
    finally:
        run(*podman("rm", "--force", "--volumes", name))


def free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]


def wait_until_ready(url: str, name: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            urllib.request.urlopen(f"{url}/readyz", timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            assert time.monotonic() < deadline, run(*podman("logs", name)).stderr
            time.sleep(0.1)


def test_it_serves_without_root_and_stops_cleanly(image: str) -> None:
    [http] = free_ports(1)
    url = f"http://127.0.0.1:{http}"
    settings = {
        "REASSIGND_LISTENER": "127.0.0.1:0",
        "REASSIGND_HTTP_LISTENER": f"127.0.0.1:{http}",
        "REASSIGND_URL": url,
    }
    options = [part for item in settings.items() for part in ("--env", "=".join(item))]
    with container(image, *options) as name:
        wait_until_ready(url, name)
        assert (
            run(*podman("exec", name, "/opt/reassignd/bin/python", "/opt/reassignd/health.py")).returncode
            == 0
        )
        assert "uid=65532" in checked(*podman("exec", name, "id"))
        assert run(*podman("exec", name, "touch", "/file")).returncode != 0
        assert run(*podman("stop", "--time", "10", name)).returncode == 0
        assert checked(*podman("inspect", name, "--format", "{{.State.ExitCode}}")) == "0"


def test_the_image_declares_its_health_check_user_and_signal(image: str) -> None:
    declared = checked(program("podman"), "inspect", "--type", "image", image)
    for part in ("/opt/reassignd/health.py", '"User": "65532:65532"', "SIGTERM", f'"{__version__}"'):
        assert part in declared, part
