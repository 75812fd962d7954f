"""Rollback of a job, with the partitions that have already reached their targets."""

import re
import subprocess
import sys

from tests.zookeeper.load import Load
from tests.zookeeper.site import Site


def reassignd(site: Site, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line of reassignd."""
    command = [sys.executable, "-m", "reassignd", *arguments, "--url", f"http://{site.commander.http}"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def newest_job(site: Site) -> int:
    """Return the id of the newest job."""
    match = re.search(r"^\s*(\d+) ", reassignd(site, "jobs").stdout, re.MULTILINE)
    assert match is not None
    return int(match[1])


def test_a_half_finished_job_is_rolled_back_completely(site: Site) -> None:
    """One partition has reached its target, the other is throttled in flight."""
    moved, held = site.create_topic([[1, 2]]), site.create_topic([[1, 2, 3]])
    site.fill(held, 1)
    site.hold(held)
    with Load(site.cluster.bootstrap, held, 1) as load, Load(site.cluster.bootstrap, moved, 1) as other:
        site.reassign_topics({moved: {0: [3, 4]}, held: {0: [3, 4, 2]}})
        site.wait_for_hosts(moved, 0, {3, 4})
        site.wait_for_hosts(held, 0, {1, 2, 3, 4})
        job = newest_job(site)
        rollback = reassignd(site, "rollback", str(job))
        assert (rollback.returncode, rollback.stdout) == (0, f"Job {job + 1} rolls back job {job}.\n")
        site.release()
        site.wait_until_idle()
    load.check()
    other.check()
    for topic, replicas in ((moved, [1, 2]), (held, [1, 2, 3])):
        site.wait_for_replicas(topic, [replicas])
        site.wait_for_hosts(topic, 0, set(replicas))


def test_a_finished_job_and_its_rollback_can_be_rolled_back(site: Site) -> None:
    topic = site.create_topic([[1, 2], [2, 1]])
    site.fill(topic, 2, 20)
    site.reassign(topic, {0: [3, 4], 1: [4, 3]})
    site.wait_until_idle()
    job = newest_job(site)
    assert reassignd(site, "rollback", str(job), "--wait").returncode == 0
    site.wait_for_replicas(topic, [[1, 2], [2, 1]])
    site.wait_for_hosts(topic, 0, {1, 2})
    assert reassignd(site, "rollback", str(job + 1), "--wait").returncode == 0
    site.wait_for_replicas(topic, [[3, 4], [4, 3]])
    for partition in (0, 1):
        site.wait_for_hosts(topic, partition, {3, 4})
