"""`reassignd zk`: submit, cancel, queue and show plans in ZooKeeper."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.zookeeper.load import Load
from tests.zookeeper.scenarios import REASSIGN
from tests.zookeeper.site import Site, wait_for


class Zk:
    """Runs `reassignd zk`; plan files are in a folder."""

    def __init__(self, site: Site, folder: Path) -> None:
        self._site, self._folder = site, folder

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        where = ("--zookeeper", self._site.cluster.zookeeper)
        command = [sys.executable, "-m", "reassignd", "zk", *arguments, *where]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    def plan(
        self, verb: str, topic: str, moves: Mapping[int, Sequence[int]]
    ) -> subprocess.CompletedProcess[str]:
        rows = [
            {"topic": topic, "partition": number, "replicas": list(to), "log_dirs": ["any"] * len(to)}
            for number, to in moves.items()
        ]
        file = self._folder / "plan.json"
        file.write_text(json.dumps({"version": 1, "partitions": rows}))
        return self.run(verb, "--reassignment-json-file", str(file))


@pytest.fixture
def zk(site: Site, tmp_path: Path) -> Iterator[Zk]:
    yield Zk(site, tmp_path)
    site.release()
    site.wait_until_idle()


@pytest.mark.tour
def test_a_submitted_plan_moves_the_data_and_its_znode_is_deleted(site: Site, zk: Zk) -> None:
    topic = site.create_topic([[1, 2], [2, 1]])
    with Load(site.cluster.bootstrap, topic, 2) as load:
        assert zk.plan("submit", topic, {0: [3, 4], 1: [4, 3]}).stdout.startswith("submitted: 2 partitions")
        wait_for(lambda: site.znode(REASSIGN), None)
    load.check()
    site.wait_for_replicas(topic, [[3, 4], [4, 3]])
    site.wait_for_hosts(topic, 0, {3, 4})


def test_a_plan_in_flight_is_shown_and_cancelled(site: Site, zk: Zk) -> None:
    topic = site.create_topic([[1, 2, 3]])
    site.fill(topic, 1)
    site.hold(topic)
    with Load(site.cluster.bootstrap, topic, 1) as load:
        zk.plan("submit", topic, {0: [3, 4, 2]})
        site.wait_for_hosts(topic, 0, {1, 2, 3, 4})
        shown = zk.run("show").stdout
        assert f"{topic}-0 to 3,4,2, from 1,2,3" in shown
        assert "exists already" in zk.plan("submit", topic, {0: [4, 2]}).stderr
        assert zk.run("cancel").returncode == 0
        site.wait_for_replicas(topic, [[1, 2, 3]])
    load.check()
    site.wait_for_hosts(topic, 0, {1, 2, 3})
    assert site.znode(REASSIGN) is None
    assert zk.run("cancel").stdout == "no pending reassignments to cancel\n"


def test_a_queued_plan_starts_after_the_running_plan(site: Site, zk: Zk) -> None:
    topic = site.create_topic([[1, 2], [2, 1]])
    site.fill(topic, 2)
    site.hold(topic)
    zk.plan("submit", topic, {0: [3, 2]})
    site.wait_for_hosts(topic, 0, {1, 2, 3})
    assert zk.plan("queue", topic, {0: [4, 1], 1: [2, 3]}).returncode == 0
    site.release()
    site.wait_for_replicas(topic, [[4, 1], [2, 3]])
    wait_for(lambda: (site.znode(REASSIGN), site.znode(f"{REASSIGN}_queue")), (None, None))


def test_a_plan_for_an_unknown_partition_is_refused(zk: Zk) -> None:
    refused = zk.plan("submit", "nothing", {0: [1]})
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "there is no partition nothing-0" in refused.stderr
