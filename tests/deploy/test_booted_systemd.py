"""The unit under a real systemd, installed by the script from the wheel, in a system of its own."""

from collections.abc import Iterator

import pytest

from tests.deploy.booted import System, booted
from tools import dist
from tools.waiting import wait_until

pytestmark = [pytest.mark.whole, pytest.mark.timeout(600)]

UNIT = "reassignd.service"
EMBEDDED = (
    "printf 'REASSIGND_BACKEND=embedded\\nREASSIGND_UPSTREAM_BOOTSTRAP_SERVERS=\\n' > /etc/default/reassignd"
)


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    folder = tmp_path_factory.mktemp("wheel")
    dist.packages(folder, dist.epoch())
    [wheel] = folder.glob("*.whl")
    with booted(wheel, tmp_path_factory.mktemp("system")) as running:
        yield running


@pytest.fixture
def service(system: System) -> Iterator[System]:
    """The system with an embedded cluster as its service, which is stopped at the end."""
    system.shell(f"{EMBEDDED}; systemctl start {UNIT}")
    yield system
    system.shell(
        f"systemctl stop {UNIT}; rm -rf /etc/default/reassignd /run/systemd/system/{UNIT}.d; systemctl"
        " daemon-reload"
    )


def state(system: System) -> str:
    return system.run("systemctl", "status", "--no-pager", UNIT).stdout


def test_without_its_kafka_the_service_starts_and_tells_what_it_waits_for(system: System) -> None:
    system.shell(f"systemctl start --no-block {UNIT}")
    status = "waiting for the upstream: cannot connect to kafka"
    wait_until(lambda: status in system.show(UNIT, "StatusText"), lambda: state(system))
    assert system.show(UNIT, "ActiveState") == "activating"
    system.shell(f"systemctl stop {UNIT}")
    assert system.show(UNIT, "Result") == "success"


def test_a_start_returns_when_it_serves(service: System) -> None:
    assert service.show(UNIT, "ActiveState") == "active"
    assert service.show(UNIT, "StatusText") == "serving"
    assert "ok" in service.shell("/opt/reassignd/bin/python /release/container/health.py && echo ok")


def test_it_runs_without_rights_and_with_records_of_its_own(service: System) -> None:
    process = service.show(UNIT, "MainPID")
    assert service.shell(f"stat -c %u /proc/{process}") != "0\n"
    rights = service.shell(f"cat /proc/{process}/status")
    assert "NoNewPrivs:\t1" in rights
    assert f"CapEff:\t{0:016x}" in rights
    assert "records.db" in service.shell("ls /var/lib/reassignd")


def test_a_hanging_process_is_replaced(service: System) -> None:
    service.shell(
        f"mkdir -p /run/systemd/system/{UNIT}.d;"
        f"printf '[Service]\\nWatchdogSec=5\\nRestartSec=0\\n' > /run/systemd/system/{UNIT}.d/test.conf;"
        f"systemctl daemon-reload; systemctl restart {UNIT}"
    )
    process = service.show(UNIT, "MainPID")
    service.shell(f"kill -STOP {process}")
    wait_until(lambda: service.show(UNIT, "NRestarts") != "0", lambda: state(service))
    wait_until(lambda: service.show(UNIT, "StatusText") == "serving", lambda: state(service))
    assert service.show(UNIT, "MainPID") != process


def test_a_stop_is_clean(service: System) -> None:
    service.shell(f"systemctl stop {UNIT}")
    assert (service.show(UNIT, "Result"), service.show(UNIT, "ExecMainStatus")) == ("success", "0")


def test_an_invalid_setting_ends_without_another_start(system: System) -> None:
    system.shell("echo REASSIGND_LOG_LEVEL=LOUD > /etc/default/reassignd")
    assert system.run("systemctl", "start", UNIT).returncode == 1
    assert (system.show(UNIT, "ActiveState"), system.show(UNIT, "NRestarts")) == ("failed", "0")
    assert "'LOUD' is not valid for log.level" in system.shell(f"journalctl -u {UNIT}")
    system.shell("rm /etc/default/reassignd")


def test_an_interpreter_that_the_service_could_not_read_is_refused(system: System) -> None:
    python = system.shell("echo ~root/python").strip()
    system.shell(f"printf '#!/bin/sh\necho {python}' > {python}; chmod +x {python}")
    refused = system.run("sh", "-c", f"PYTHON={python} /release/install.sh /release/*.whl")
    assert refused.returncode == 1
    assert f"the service cannot read {python}: set PYTHON" in refused.stderr
