"""All actions of kafka-reassign-partitions."""

import pytest

from tests.clients.cluster import FAST, REPLICAS, SLOW, Cluster, wait_for
from tests.clients.tool import Tool, assignments

VERIFY = (
    "Warning: You must run --verify periodically, until the reassignment completes,"
    " to ensure the throttle is removed."
)
SAVE_THIS = "Save this to use as the --reassignment-json-file option during rollback"


def test_generate_proposes_replicas_on_the_given_brokers(cluster: Cluster, tool: Tool) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b], [b, a]], filled=False)
    topics = tool.write({"version": 1, "topics": [{"topic": topic}]})
    ran = tool("reassign", "--generate", "--topics-to-move-json-file", topics, "--broker-list", f"{c},{d}")
    title, current, proposed_title, proposed = ran.lines
    assert (title, proposed_title) == (
        "Current partition replica assignment",
        "Proposed partition reassignment configuration",
    )
    assert assignments(current) == {f"{topic}-0": [a, b], f"{topic}-1": [b, a]}
    assert [sorted(replicas) for replicas in assignments(proposed).values()] == [[c, d], [c, d]]


@pytest.mark.tour
def test_execute_prints_the_current_assignment_and_moves_every_replica(cluster: Cluster, tool: Tool) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b], [b, c]])
    ran = tool.reassign("--execute", {topic: [[c, d], [d, a]]})
    assert ran.exit_code == 0
    assert ran.lines[0] == "Current partition replica assignment"
    assert assignments(ran.lines[1]) == {f"{topic}-0": [a, b], f"{topic}-1": [b, c]}
    assert ran.lines[2:] == [
        SAVE_THIS,
        f"Successfully started partition reassignments for {topic}-0,{topic}-1",
    ]
    cluster.wait_until_idle()
    cluster.wait_for_replicas(topic, [[c, d], [d, a]])


@pytest.mark.tour
def test_a_throttled_reassignment_is_listed_and_verify_removes_the_throttle(
    cluster: Cluster, tool: Tool
) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]])
    moves = {topic: [[c, d]]}
    ran = tool.reassign("--execute", moves, "--throttle", SLOW)
    assert ran.lines[-3:] == [
        VERIFY,
        f"The inter-broker throttle limit was set to {SLOW} B/s",
        f"Successfully started partition reassignment for {topic}-0",
    ]
    assert cluster.config("TOPIC", topic, REPLICAS[0]) == f"0:{a},0:{b}"
    assert cluster.config("TOPIC", topic, REPLICAS[1]) == f"0:{c},0:{d}"
    assert tool("reassign", "--list").lines == [
        "Current partition reassignments:",
        f"{topic}-0: replicas: {c},{d},{a},{b}. adding: {c},{d}. removing: {a},{b}.",
    ]
    assert tool.reassign("--verify", moves).lines == [
        "Status of partition reassignment:",
        f"Reassignment of partition {topic}-0 is still in progress.",
    ]
    tool.reassign("--execute", moves, "--additional", "--throttle", FAST)
    cluster.wait_until_idle()
    assert tool.reassign("--verify", moves).lines == [
        "Status of partition reassignment:",
        f"Reassignment of partition {topic}-0 is completed.",
        f"Clearing broker-level throttles on brokers {','.join(map(str, cluster.brokers))}",
        f"Clearing topic-level throttles on topic {topic}",
    ]
    wait_for(lambda: cluster.throttles(topic), [])
    cluster.wait_for_replicas(topic, [[c, d]])


def test_a_second_plan_needs_the_option_additional(cluster: Cluster, tool: Tool) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b], [b, a]])
    cluster.hold(topic)
    cluster.move({f"{topic}-0": [c, b]})
    ran = tool.reassign("--execute", {topic: [[c, b], [d, a]]})
    assert ran.exit_code == 1
    assert "Cannot execute because there is an existing partition assignment." in ran.stdout + ran.stderr
    assert tool.reassign("--execute", {topic: [[c, b], [d, a]]}, "--additional").exit_code == 0
    assert set(cluster.reassignments()) == {f"{topic}-0", f"{topic}-1"}


@pytest.mark.tour
def test_cancel_restores_the_original_replicas(cluster: Cluster, tool: Tool) -> None:
    a, b, c, d = cluster.brokers[:4]
    topic = cluster.create_topic([[d, a], [a, b]])
    moves = {topic: [[b, c], [c, d]]}
    tool.reassign("--execute", moves, "--throttle", SLOW)
    ran = tool.reassign("--cancel", moves)
    assert ran.exit_code == 0
    assert ran.lines[0] == f"Successfully cancelled partition reassignments for: {topic}-0,{topic}-1"
    assert ran.lines[-1] == f"Clearing topic-level throttles on topic {topic}"
    cluster.expect_reassignments(set())
    assert tool("reassign", "--list").lines == ["No partition reassignments found."]
    # Kafka does not restore the order of the replicas.
    original = {"reassignd": [[d, a], [a, b]], "kafka": [[a, d], [a, b]]}[cluster.kind]
    cluster.wait_for_replicas(topic, original)
    wait_for(lambda: cluster.throttles(topic), [])


def test_cancel_can_leave_the_throttles_alone(cluster: Cluster, tool: Tool) -> None:
    a, b, c, _ = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]])
    moves = {topic: [[b, c]]}
    tool.reassign("--execute", moves, "--throttle", SLOW)
    tool.reassign("--cancel", moves, "--preserve-throttles")
    cluster.expect_reassignments(set())
    assert str(SLOW) in cluster.throttles(topic)


def test_cancel_without_a_reassignment_is_reported(cluster: Cluster, tool: Tool) -> None:
    a, b, c, _ = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]], filled=False)
    ran = tool.reassign("--cancel", {topic: [[a, c]]})
    assert ran.exit_code == 0
    assert "None of the specified partition moves are active." in ran.stdout


def test_verify_reports_a_plan_that_was_not_executed(cluster: Cluster, tool: Tool) -> None:
    a, b, c, _ = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]], filled=False)
    ran = tool.reassign("--verify", {topic: [[a, c]]})
    assert ran.lines[1] == (
        f"There is no active reassignment of partition {topic}-0,"
        f" but replica set is {a},{b} rather than {a},{c}."
    )


def test_a_changed_replica_order_completes_at_once(cluster: Cluster, tool: Tool) -> None:
    a, b, *_ = cluster.brokers
    topic = cluster.create_topic([[a, b]])
    cluster.hold(topic)
    tool.reassign("--execute", {topic: [[b, a]]})
    cluster.wait_for_replicas(topic, [[b, a]])
    cluster.expect_reassignments(set())


def test_the_replication_factor_can_grow_and_shrink(cluster: Cluster, tool: Tool) -> None:
    a, b, c, _ = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]])
    for target in ([a, b, c], [c]):
        assert tool.reassign("--execute", {topic: [target]}).exit_code == 0
        cluster.wait_until_idle()
        cluster.wait_for_replicas(topic, [target])


def test_a_change_of_the_replication_factor_can_be_disallowed(cluster: Cluster, tool: Tool) -> None:
    a, b, c, _ = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]], filled=False)
    ran = tool.reassign("--execute", {topic: [[a, b, c]]}, "--disallow-replication-factor-change")
    assert ran.exit_code == 1
    expected = {
        "4.3": f"{topic}-0: The replication factor is changed from 2 to 3",
        "3.9": "disallow-replication-factor-change is not a recognized option",
    }
    assert expected[tool.version] in ran.stdout + ran.stderr
    assert cluster.replicas(topic) == [[a, b]]


def test_unknown_topics_and_brokers_are_refused(cluster: Cluster, tool: Tool) -> None:
    a, b, *_ = cluster.brokers
    topic = cluster.create_topic([[a, b]], filled=False)
    unknown_broker = tool.reassign("--execute", {topic: [[a, 77]]})
    assert (unknown_broker.exit_code, "Unknown broker id 77" in unknown_broker.stdout) == (1, True)
    unknown_topic = tool.reassign("--execute", {"nowhere": [[a, b]]})
    assert (unknown_topic.exit_code, "nowhere" in unknown_topic.stdout) == (1, True)


def test_a_replica_moves_to_the_log_dir_that_the_plan_names(cluster: Cluster, tool: Tool) -> None:
    a, b, c, _ = cluster.brokers[:4]
    topic = cluster.create_topic([[a, b]])
    log_dir = max(cluster.admin.do("log_dirs", broker=c))
    move = {"topic": topic, "partition": 0, "replicas": [c, b], "log_dirs": [log_dir, "any"]}
    plan = tool.write({"version": 1, "partitions": [move]})
    ran = tool("reassign", "--execute", "--reassignment-json-file", plan)
    assert ran.lines[-1].rstrip() == (
        f"Successfully started moving log directory to {log_dir} for replica {topic}-0 with broker {c}"
    )
    cluster.wait_until_idle()
    done = f"Reassignment of replica {topic}-0-{c} completed successfully."
    # The move between directories runs in parallel to the reassignment and may take longer.
    runs = (tool("reassign", "--verify", "--reassignment-json-file", plan) for _ in range(20))
    assert any(done in verified.lines for verified in runs)
    assert f"{topic}-0" in cluster.admin.do("log_dirs", broker=c)[log_dir]


def test_a_replica_moves_between_the_log_dirs_of_its_broker(cluster: Cluster, tool: Tool) -> None:
    a, b, *_ = cluster.brokers
    topic = cluster.create_topic([[a, b]])
    dirs = cluster.admin.do("log_dirs", broker=a)
    other = next(path for path, replicas in dirs.items() if f"{topic}-0" not in replicas)
    move = {"topic": topic, "partition": 0, "replicas": [a, b], "log_dirs": [other, "any"]}
    plan = tool.write({"version": 1, "partitions": [move]})
    assert tool("reassign", "--execute", "--reassignment-json-file", plan).exit_code == 0
    wait_for(lambda: _dirs_with(cluster, a, f"{topic}-0"), [other])


def _dirs_with(cluster: Cluster, broker: int, partition: str) -> list[str]:
    dirs = cluster.admin.do("log_dirs", broker=broker)
    return [path for path, replicas in dirs.items() if partition in replicas]
