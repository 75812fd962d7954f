import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pytest

from planner.model.snapshot import Snapshot, lines
from planner.proposals.problem.goal import Goal
from planner.proposing import read_goal_options
from reassignd import cli
from reassignd.client import Client
from reassignd.commands.propose_execute import Execution, Placing, watch
from reassignd.config.errors import CommandError
from tests.planner.proposals.builders import cluster
from tests.reassignd.shell import PATIENCE_SECONDS, Shell, create_placed_topic, create_topic

pytestmark = pytest.mark.whole

DRAINED = "broker 6 holds nothing; it can be stopped"


def changed_snapshot(shell: Shell, folder: Path) -> str:
    """Return a snapshot file of before a move of foo-3, which has a replica on broker 6."""
    path = str(folder / "old.jsonl")
    shell.ok("snapshot", "--output", path)
    job = shell.execute([3], 1)
    shell.until(lambda: shell.json("job", str(job))["job"]["state"] == "ended")
    return path


def test_a_drained_broker_can_be_stopped_and_the_drain_rolled_back(shell: Shell) -> None:
    before = shell.replicas()
    drain = shell.ok("propose", "drain", "6", "--execute", "--wait", "--timeout", str(PATIENCE_SECONDS))
    assert drain.splitlines()[-1] == DRAINED
    assert shell.ok("drained", "6") == f"{DRAINED}\n"
    again = shell.ok("propose", "drain", "6", "--execute", "--wait")
    assert again.splitlines()[0] == "nothing to move: the cluster meets the goal"
    shell.ok("rollback", "1", "--wait")
    assert shell.replicas() == before


def test_a_proposal_is_not_executed_if_replicas_have_changed(shell: Shell, tmp_path: Path) -> None:
    old, plan = changed_snapshot(shell, tmp_path), tmp_path / "plan.json"
    arguments = ("propose", "drain", "6", "--snapshot", old, "--execute", "--output", str(plan))
    refused = shell.run(*arguments)
    assert (refused.code, refused.out) == (1, "")
    said = "changed since the snapshot: 1 partition, the first is foo-3; take a new snapshot, or use --replan"
    assert refused.err == f"reassignd: {said}\n"
    assert len(shell.json("jobs")["jobs"]) == 1
    assert not plan.exists()
    again = shell.run(*arguments, "--replan", "--wait")
    assert (again.code, DRAINED in again.out) == (0, True)


def test_a_snapshot_of_another_cluster_is_refused(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    lines = shell.ok("snapshot").splitlines()
    path.write_text("\n".join(['{"kind": "cluster", "cluster_id": "other"}', *lines[1:]]))
    refused = shell.run("propose", "drain", "6", "--snapshot", str(path), "--execute", "--replan")
    assert refused.code == 1
    assert refused.err.startswith("reassignd: the snapshot is of cluster other, but the server's is ")
    assert shell.json("jobs")["jobs"] == []


def test_a_watched_drain_takes_new_partitions_too(shell: Shell) -> None:
    shell.ok("propose", "drain", "6", "--execute", "--wait")
    create_topic(shell.server.bootstrap, [[6, 1, 2]] * 5, "late")
    assert shell.run("drained", "6").code == 1
    watched = shell.ok("propose", "drain", "6", "--execute", "--watch", "--timeout", str(PATIENCE_SECONDS))
    assert watched.splitlines()[-1] == DRAINED
    assert shell.ok("propose", "drain", "6", "--execute", "--watch") == f"{DRAINED}\n"


def test_new_partitions_are_kept_off_drained_brokers_until_they_are_added(shell: Shell) -> None:
    shell.ok("propose", "drain", "6", "--execute", "--wait")
    shell.server.kill()
    shell.server.start()
    create_placed_topic(shell.server.bootstrap, "spread", 12, 2)
    assert shell.ok("drained", "6") == f"{DRAINED}\n"
    assert "6 of 6 brokers (excluded: 6)" in shell.ok("status")
    shell.ok("propose", "add", "6", "--execute", "--wait")
    assert shell.ok("placement") == "New partitions can be placed on all brokers.\n"
    assert shell.run("drained", "6").code == 1


def test_placement_is_changed_by_hand(shell: Shell) -> None:
    shown = "New partitions are not placed on: 3, 6\n"
    assert shell.ok("placement", "--exclude", "6,3") == shown
    assert shell.json("placement", "--allow", "3")["excluded"] == [6]
    unknown = shell.run("placement", "--exclude", "9")
    assert (unknown.code, unknown.err) == (1, "reassignd: There is no broker 9.\n")
    assert shell.run("placement", "--exclude", "x").code == 2


def test_a_watched_drain_ends_at_its_timeout(slow: Shell) -> None:
    slow.ok("limits", "throttle=1kB")
    watched = slow.run("propose", "drain", "6", "--execute", "--watch", "--timeout", "1")
    assert watched.code == 1
    assert "broker 6 holds 99 replicas" in watched.out


def test_a_dry_run_forecasts_under_the_limits_of_the_server(shell: Shell) -> None:
    shell.ok("limits", "P=1", "throttle=100000")
    forecast = shell.json("propose", "drain", "6", "--dry-run")["forecast"]
    assert (forecast["limits"]["p"], forecast["bandwidth"], forecast["waves"]) == (1, 100_000, 99)
    assert "99 steps in 99 waves" in shell.ok("propose", "drain", "6", "--dry-run", "--throttle", "5B")
    assert shell.json("jobs")["jobs"] == []


def test_a_dry_run_has_the_time_within_the_schedule_of_the_server(shell: Shell) -> None:
    shell.ok("schedule", "00:00-24:00 throttle=100")
    shown = shell.json("propose", "drain", "6", "--dry-run", "--throttle", "1kB")
    assert shown["scheduled"]["schedule"] == "00:00-24:00 throttle=100"
    assert shown["scheduled"]["seconds"] == pytest.approx(10 * shown["forecast"]["seconds"])
    line = shell.ok("propose", "drain", "6", "--dry-run", "--throttle", "1kB").splitlines()[-1]
    assert line.startswith("within the schedule: ")
    shell.ok("schedule", "none")
    assert "schedule" not in shell.ok("propose", "drain", "6", "--dry-run")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--execute", "--dry-run"], "--execute and --dry-run cannot be used together"),
        (["--replan"], "--replan needs --execute"),
        (["--throttle", "5MB"], "--throttle needs --execute or --dry-run"),
        (["--execute", "--throttle", "0"], "Invalid value for '--throttle': '0', expected at least 1 byte"),
        (["--execute", "--timeout", "5"], "--timeout needs --wait or --watch"),
        (["--execute", "--watch", "--output", "x"], "--watch makes several plans"),
        (["--paused"], "--paused needs --execute"),
        (["--execute", "--watch", "--paused"], "--watch waits for the end of its plans"),
        (["--until", "2h"], "--until needs --execute"),
        (["--execute", "--until", "2h"], "--until is for demote without goals that move data"),
        (["leaders", "--execute", "--until", "soon"], "Invalid value for '--until': 'soon', expected a time"),
        (
            ["--execute", "--until", "2001-01-01T10:00"],
            "Invalid value for '--until': '2001-01-01T10:00' is in",
        ),
    ],
)
def test_options_that_contradict_are_refused(
    options: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["propose", "drain", "1", *options]) == 2
    assert capsys.readouterr().err.startswith(f"reassignd: {error}")


def test_a_demoted_broker_leads_nothing_until_the_rollback(shell: Shell) -> None:
    before = shell.replicas()
    shell.ok("propose", "demote", "1", "--execute", "--until", "2h", "--wait")
    assert all(replicas[0] != 1 for replicas in shell.replicas())
    assert list(map(sorted, shell.replicas())) == list(map(sorted, before))
    assert "Restores  job 1 will be rolled back at " in shell.ok("status")
    again = shell.ok("propose", "demote", "1").splitlines()
    assert again[0] == "nothing to move: the cluster meets the goal"
    shell.ok("rollback", "1", "--wait")
    assert shell.replicas() == before
    assert "Restores" not in shell.ok("status")


def test_a_demotion_ends_by_itself_after_a_crash_too(shell: Shell) -> None:
    before = shell.replicas()
    shell.ok("propose", "demote", "1", "--execute", "--until", "3s", "--wait")
    shell.server.kill()
    shell.server.start()
    shell.until(lambda: len(shell.json("jobs")["jobs"]) == 2)
    shell.until(lambda: shell.replicas() == before)
    assert shell.json("jobs")["jobs"][0]["principal"] == "reassignd"


def test_a_proposal_is_submitted_paused(shell: Shell) -> None:
    shell.ok("propose", "drain", "6", "--execute", "--paused")
    assert [(job["state"], job["moving"]) for job in shell.json("jobs")["jobs"]] == [("paused", 0)]


def test_until_is_for_demotions(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["propose", "leaders", "--execute", "--until", "2h"]) == 2
    assert capsys.readouterr().err == "reassignd: --until is for demote\n"


def test_only_drains_are_watched(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["propose", "balance", "--execute", "--watch"]) == 2
    assert capsys.readouterr().err == "reassignd: --watch is for drain\n"


def test_the_json_of_an_execution_ends_with_the_drained_brokers(shell: Shell) -> None:
    lines = shell.ok("propose", "drain", "6", "--execute", "--wait", "--format", "json").splitlines()
    proposal, submitted, drained = map(json.loads, lines)
    assert (proposal["moves"], submitted["accepted"]) == (99, 99)
    assert drained == {"brokers": [{"broker": 6, "replicas": 0, "left_out": 0, "drained": True}]}


class Server:
    """A client of a server with these partitions. A plan is carried out at once, or refused."""

    def __init__(self, cluster: Snapshot, *, refuses: bool = False) -> None:
        self.cluster, self.refuses, self.jobs = cluster, refuses, 0
        self.excluded: set[int] = set()
        self.notes: list[str] = []

    def get(self, path: str, **_: object) -> Any:
        brokers = [{"id": broker} for broker in self.cluster.brokers]
        job = {
            "id": self.jobs,
            "kind": "plan",
            "state": "ended",
            "total": 1,
            "done": 1,
            "endings": {"done": 1},
        }
        job |= {"moving": 0, "stalled": 0, "waiting": 0, "queued": 0, "copied": None}
        job |= {"created_ms": 0, "ended_ms": 1}
        return {
            "/v1/status": {"brokers": {"placed_by": "reassignd"}},
            "/v1/placement": {"brokers": brokers, "excluded": sorted(self.excluded)},
        }.get(path, {"job": job, "reasons": []})

    def stream(self, path: str) -> Iterable[bytes]:
        assert path == "/v1/snapshot"
        return lines(self.cluster)

    def post(self, path: str, body: Any, **_: object) -> Any:
        if path == "/v1/placement":
            self.excluded = (self.excluded | {*body["exclude"]}) - {*body["allow"]}
            return {"notes": self.notes}
        if self.refuses:
            raise CommandError("partitions[0] (foo-0): Unable to find a topic named foo.")
        self.jobs += 1
        for row in json.loads(body)["partitions"]:
            key, replicas = (row["topic"], row["partition"]), tuple(row["replicas"])
            moved = self.cluster.partitions[key]._replace(replicas=replicas, isr=replicas)
            self.cluster.partitions[key] = moved
        return {"job": self.jobs, "accepted": 1, "unchanged": 0, "refused": [], "rollback": {}}

    def run(self, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
        for name in ("get", "stream", "post"):
            monkeypatch.setattr(Client, name, staticmethod(getattr(self, name)))
        return cli.main(["propose", *arguments, "--execute"])


def test_a_watched_drain_ends_when_only_topics_that_are_left_out_remain(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot = cluster("---", (1, 2))
    canary = snapshot.partitions["foo", 0]._replace(topic="canary")
    server = Server(snapshot._replace(partitions=snapshot.partitions | {("canary", 0): canary}))
    assert server.run(monkeypatch, "drain", "1", "--exclude-topics", "canary", "--watch") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "broker 1 holds nothing but 1 replica of other topics"
    assert server.run(monkeypatch, "drain", "2", "--exclude-topics", "canary", "--wait") == 0


def test_a_watched_drain_ends_when_no_partition_can_be_moved(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server(cluster("---", (1,), (1, 2)))
    server.cluster.brokers[1] = server.cluster.brokers[1]._replace(live=False)
    assert server.run(monkeypatch, "drain", "1", "--watch") == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == "broker 1 holds 1 replica: foo-0"
    assert "left out, all replicas are offline (1): 1 partition: foo-0" in printed.err


def test_a_watched_drain_waits_for_the_end_of_a_step_that_is_being_undone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = Server(cluster("---", (1, 2)))
    row = server.cluster.partitions["foo", 0]
    server.cluster.partitions["foo", 0] = row._replace(meanwhile=(3,))

    def undone(_: float) -> None:
        server.cluster.partitions["foo", 0] = row

    goal_options = read_goal_options(["drain", "3"], {})
    options = (goal_options, Execution(execute=True, watch=True), lambda _: None, "text")
    assert watch(cast(Client, server), *options, sleep=undone) == 0
    assert capsys.readouterr().out == "broker 3 holds nothing; it can be stopped\n"


@pytest.mark.parametrize("how", [(), ("--watch",)])
def test_a_refused_plan_excludes_no_broker(how: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(cluster("---", (1, 2)), refuses=True)
    server.excluded = {3}
    assert server.run(monkeypatch, "drain", "1", "add", "3", *how) == 1
    assert server.excluded == {3}


def test_what_hinders_the_placement_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    server = Server(cluster("---", (1, 2)))
    server.notes = ["broker 1 is not cordoned"]
    placing = Placing(cast(Client, server), Goal(drain=frozenset({1})))
    placing.release(placing.reserve())
    placing.reserve()
    assert capsys.readouterr().err == "reassignd: broker 1 is not cordoned\n"


def test_a_topic_that_waits_for_its_deletion_does_not_hinder_others(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = cluster("---", (1, 2))
    going = snapshot.partitions["foo", 0]._replace(topic="going", target=())
    server = Server(snapshot._replace(partitions=snapshot.partitions | {("going", 0): going}))
    assert server.run(monkeypatch, "drain", "1") == 0
    moved = {topic: row.replicas for (topic, _), row in server.cluster.partitions.items()}
    assert moved == {"foo": (2, 3), "going": (1, 2)}
