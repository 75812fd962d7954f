import json
from pathlib import Path

import pytest

from planner.model.snapshot import Snapshot, write_snapshot
from reassignd import cli
from reassignd.commands.drained import held_by, report
from reassignd.config.errors import CommandError
from tests.planner.proposals.builders import cluster


def moving(snapshot: Snapshot, number: int, *target: int) -> Snapshot:
    key = ("foo", number)
    row = snapshot.partitions[key]._replace(target=target)
    return snapshot._replace(partitions=snapshot.partitions | {key: row})


def test_a_broker_without_replicas_can_be_stopped() -> None:
    [held] = held_by(cluster("---", (1, 2)), [3])
    assert held.line == "broker 3 holds nothing; it can be stopped"


def test_the_registration_that_remains_in_kraft_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(held_by(cluster("---", (1, 2)), [1, 3]), "text", registered=True) == 1
    [one, three] = capsys.readouterr().out.splitlines()
    assert one == "broker 1 holds 1 replica: foo-0"
    assert three.endswith("stopped. KRaft keeps it registered until `kafka-cluster.sh unregister --id 3`")


def test_the_first_partitions_are_named() -> None:
    one, two = held_by(cluster("---", *[(1,)] * 7, (2,)), [2, 1])
    assert one.line == "broker 1 holds 7 replicas: foo-0, foo-1, foo-2, foo-3, foo-4 and 2 more"
    assert two.line == "broker 2 holds 1 replica: foo-7"


def test_a_replica_that_arrives_or_leaves_counts() -> None:
    snapshot = moving(cluster("---", (1, 2)), 0, 1, 3)
    assert [len(held.partitions) for held in held_by(snapshot, [1, 2, 3])] == [1, 1, 1]


def test_an_unknown_broker_is_named_unless_it_holds_replicas() -> None:
    with pytest.raises(CommandError, match="broker 9 is not in the cluster"):
        held_by(cluster("--", (1, 2)), [9])
    [held] = held_by(cluster("--", (1, 9)), [9])
    assert held.partitions == [("foo", 0)]


@pytest.mark.parametrize(("broker", "code"), [("1", 1), ("3", 0), ("9", 2), ("x", 2)])
def test_the_exit_code_is_for_scripts(tmp_path: Path, broker: str, code: int) -> None:
    path = tmp_path / "cluster.jsonl"
    write_snapshot(cluster("---", (1, 2)), path)
    assert cli.main(["drained", broker, "--snapshot", str(path)]) == code


def test_failures_have_exit_code_2(tmp_path: Path) -> None:
    assert cli.main(["drained", "1", "--snapshot", str(tmp_path / "none")]) == 2
    assert cli.main(["drained", "1", "--url", f"unix:{tmp_path / 'none'}"]) == 2


def test_the_json_has_the_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cluster.jsonl"
    write_snapshot(cluster("---", (1, 2)), path)
    assert cli.main(["drained", "1", "3", "--snapshot", str(path), "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["brokers"] == [
        {"broker": 1, "replicas": 1, "left_out": 0, "drained": False},
        {"broker": 3, "replicas": 0, "left_out": 0, "drained": True},
    ]


def test_topics_that_are_left_out_do_not_count() -> None:
    [held] = held_by(cluster("---", (1, 2)), [1], lambda topic: topic != "foo")
    assert held.line == "broker 1 holds nothing but 1 replica of other topics"
    assert (held.as_dict()["drained"], held.as_dict()["left_out"]) == (True, 1)


@pytest.mark.parametrize(
    ("options", "code"), [(["--exclude-topics", "fo+"], 0), (["--topics", "bar"], 0), (["--topics", "("], 2)]
)
def test_topics_are_chosen_as_for_a_proposal(tmp_path: Path, options: list[str], code: int) -> None:
    path = tmp_path / "cluster.jsonl"
    write_snapshot(cluster("---", (1, 2)), path)
    assert cli.main(["drained", "1", "--snapshot", str(path), *options]) == code


def test_a_replica_of_a_topic_that_waits_for_its_deletion_counts() -> None:
    [held] = held_by(moving(cluster("---", (1, 2)), 0), [1])
    assert held.partitions == [("foo", 0)]
