"""The instances before a real cluster: who is active, the hand-over, and the metrics of each."""

import subprocess
import sys

from tests.upstream.instances import Instance
from tests.upstream.test_instances import eventually, pair, role

__all__ = ["pair"]


def command(instance: Instance, *arguments: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "reassignd", "instances", *arguments, "--url", f"http://{instance.http}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def metric(instance: Instance, name: str) -> str:
    lines = [line.split() for line in instance.text("/metrics").splitlines()]
    return next(line[1] for line in lines if line[0] == name)


def roles(instance: Instance) -> list[bool]:
    return [row["active"] for row in instance.get("/v1/instances")["instances"]]


def test_each_instance_lists_both_and_a_hand_over_changes_their_roles(
    pair: tuple[Instance, Instance],
) -> None:
    first, second = pair
    eventually(lambda: [roles(instance) for instance in pair], [[True, False]] * 2)
    assert "standby" in command(second)
    assert [metric(instance, "reassignd_instance_active") for instance in pair] == ["1.0", "0.0"]
    assert "becomes active" in command(second, "hand-over")
    eventually(lambda: [role(instance) for instance in pair], ["role: standby", "role: active"])
    assert [metric(instance, "reassignd_instance_changes_total") for instance in pair] == ["1.0", "1.0"]
    eventually(lambda: float(metric(second, "reassignd_state_commit_seconds_count")) > 0, True)
    eventually(lambda: float(metric(second, "reassignd_instance_lease_seconds")) > 0, True)
    assert metric(first, "reassignd_state_lag_records") == "0.0"
