"""What the blocks of the documents need to run, and why some of them are not run."""

from collections.abc import Mapping
from typing import NamedTuple

from tests.documents.blocks import Block

Key = tuple[str, str]
"""A block by its page and the beginning of its first command."""


def find(block: Block, table: Mapping[Key, str]) -> Key | None:
    """Return the key of the block in the table; None if it has none."""
    return next((each for each in table if each[0] == block.page and block.begin.startswith(each[1])), None)


NEEDS_KAFKA = (
    "needs a Kafka cluster; tests/upstream/test_documents.py runs the same commands of the page `gateway`"
)
HAS_KAFKA = "starts a Kafka cluster; the tests of tests/upstream/ have one"
NEEDS_ZOOKEEPER = "needs brokers in ZooKeeper mode; tests/zookeeper/ has them"
INSTALLS = "installs on the machine; tests/deploy/ does so where it can"
LARGE_PLAN = "moves 2,000 partitions; tests/clients/test_large_plan.py does the same"
REASSIGN = "kafka-reassign-partitions.sh --bootstrap-server 127.0.0.1:9092 --reassignment-json-file"

STARTS_SPARK = "starts Spark; tests/reassignd/workers/test_spark_planning.py does the same"
NEEDS_STRIMZI = "needs a cluster of Strimzi; tests/deploy/test_strimzi_pod.py runs the scripts of the pod"
NEEDS_KUBERNETES = "needs a Kubernetes cluster; tests/deploy/test_chart.py renders the chart"

NOT_RUN = {
    ("README", "reassignd serve --backend upstream"): NEEDS_KAFKA,
    ("README", "make test"): "runs these tests",
    ("README", "make run SPARK=1"): STARTS_SPARK,
    ("README", "reassignd limits R=1 B=4"): STARTS_SPARK,
    ("CONTRIBUTING", "make run  "): "runs these tests",
    ("CONTRIBUTING", ".venv/bin/python -m pytest"): "runs these tests",
    ("CONTRIBUTING", "apt-get install"): INSTALLS,
    ("cruise-control", "pip install cruise-control-client"): INSTALLS,
    ("dependencies", "lock() {"): "asks a package index",
    ("gateway", ".venv/bin/python -m tools.kafka_cluster"): HAS_KAFKA,
    ("guide", "make reset run ARGS"): LARGE_PLAN,
    ("guide", "kafka-topics.sh"): LARGE_PLAN,
    ("guide", "kill -9"): LARGE_PLAN,
    ("guide", f"{REASSIGN} half"): LARGE_PLAN,
    ("guide", "reassignd snapshot --output after.jsonl"): LARGE_PLAN,
    ("guide", f"{REASSIGN} plan"): LARGE_PLAN,
    (
        "guide",
        "reassignd context set",
    ): "needs two servers; tests/reassignd/commands/test_context.py has them",
    ("guide", 'eval "$(_REASSIGND_COMPLETE=bash'): "is for three different shells",
    ("install", "pip install reassignd"): INSTALLS,
    ("install", "pip install 'reassignd"): INSTALLS,
    ("install", "tar xzf reassignd"): INSTALLS,
    ("install", "podman run --read-only --tmpfs /tmp --volume reassignd"): INSTALLS,
    ("install", "podman run --read-only --tmpfs /tmp --volume ./token"): INSTALLS,
    ("install", "mkdir --mode 1777 forecast"): INSTALLS,
    (
        "install",
        "sudo debootstrap",
    ): "needs root; tests/deploy/test_container.py makes such a base where it can",
    ("install", "make dist"): "tests/tools/test_dist.py builds a release",
    ("kubernetes", "make dist"): NEEDS_KUBERNETES,
    ("kubernetes", "kubectl rollout restart"): NEEDS_KUBERNETES,
    ("kubernetes", "cd deploy/helm/examples"): NEEDS_KUBERNETES,
    ("kubernetes", "helm template"): NEEDS_KUBERNETES,
    (
        "proposals",
        "reassignd propose drain 7 --snapshot",
    ): "needs a Spark cluster; tests/planner/ runs proposals with Spark",
    (
        "proposals",
        "reassignd propose demote",
    ): "broker 7 leads nothing by then; tests/reassignd/commands/test_propose_execute.py demotes one",
    (
        "proposals",
        "reassignd propose repair",
    ): "needs a broker that is gone; tests/upstream/test_own_sizes.py repairs before a real Kafka",
    ("proposals", "reassignd propose relieve"): "needs disks; tests/planner/test_proposing.py has some",
    (
        "proposals",
        "reassignd propose disks",
    ): "needs uneven disks; tests/reassignd/commands/test_propose_disks.py has some",
    ("recipes", "reassignd brokers"): "needs a new broker; tests of proposals add some",
    ("recipes", "reassignd limits L=20"): "restarts brokers with systemd",
    (
        "recipes",
        "reassignd propose relieve",
    ): "needs disks; tests/planner/test_proposing.py has some",
    ("recipes", "reassignd propose repair"): "needs a broker that is gone; see Proposals",
    ("recipes", "kafka-acls.sh"): "needs a secured cluster; tests/upstream/test_users.py has one",
    ("recipes", "reassignd execute plan.json --wait"): "sends mail",
    ("security", "keytool -list"): "converts key stores of the reader",
    ("strimzi", "make dist"): NEEDS_STRIMZI,
    ("strimzi", "kubectl exec"): NEEDS_STRIMZI,
    ("strimzi", "kubectl annotate"): NEEDS_STRIMZI,
    ("strimzi", "kafka-configs.sh"): NEEDS_STRIMZI,
    ("zookeeper", "reassignd serve --backend zookeeper --zookeeper"): NEEDS_ZOOKEEPER,
    ("zookeeper", "reassignd serve --backend zookeeper …"): NEEDS_ZOOKEEPER,
}
"""Why blocks are not run."""

KAFKA_PAGES = {"gateway", "high-availability"}
"""Pages for a Kafka cluster. tests/upstream/test_documents.py runs them."""


class Before(NamedTuple):
    """What a document expects: settings of the server, and commands that are run before its own."""

    settings: dict[str, str]
    commands: str = "reassignd serve --demo-topics"


FAST = {"embedded.partition.bytes": "100000", "embedded.tick.ms": "20"}
LARGE = {"embedded.partition.bytes": "50000000", "embedded.network.bytes.per.second": "1000000000"}
"""Partitions that move for as long as brokers are slow, however busy the machine is."""

SERVER = Before(FAST)
"""What most documents expect."""

PLANS = """
plan() { echo '{"version": 1, "partitions": [{"topic": "'$1'", "partition": '$2', "replicas": '$3'}]}'; }
plan orders 0 '[4, 5, 6]' > plan.json
plan orders 7 '[4, 5, 6]' > urgent.json
"""

TEN_JOBS = """
for partition in {0..9}; do plan clicks $partition '[1, 2]' | reassignd execute - > /dev/null || return; done
"""
"""Jobs before the two that the recipes write of, the second with the number 12."""

TOPIC_OF_FOUR_PARTITIONS = """
kafka-topics.sh --bootstrap-server 127.0.0.1:9092 --create --topic orders.eu \\
  --partitions 4 --replication-factor 2
"""

BEFORE = {
    "README": Before(LARGE, ""),
    "api": Before(FAST, f"reassignd serve --demo-topics {PLANS}"),
    "cruise-control": Before({**FAST, "cruisecontrol.api": "on"}),
    "guide": Before(LARGE, ""),
    "pace": Before(FAST, f"reassignd serve --demo-topics {PLANS}"),
    "proposals": Before(FAST, f"reassignd serve --brokers 32 --demo-topics {TOPIC_OF_FOUR_PARTITIONS}"),
    "recipes": Before(FAST, f"reassignd serve --demo-topics {PLANS} {TEN_JOBS}"),
    "security": Before(FAST, ""),
}
"""What other documents expect, by their page."""

TOPICS_FILE = """echo '{"version": 1, "topics": [{"topic": "orders"}]}' > topics.json"""
BAD_PLAN = """
row='{"topic": "clicks", "partition": 0, "replicas": [1, 2147483648]}'
echo '{"version": 1, "partitions": ['"$row"']}' > bad.json
"""
ACCESS_FILES = """
echo 'ann operator token 6Jq1uRZ0mTzvN3sK' > access
echo 6Jq1uRZ0mTzvN3sK > ~/.reassignd-token
chmod 600 access ~/.reassignd-token
"""

SPEED = """
for broker in {1..6}; do
  curl --silent --fail --show-error --output speed.out --data '{"factor": %s}' \\
    $REASSIGND_URL/v1/brokers/$broker/slow
done
"""

KILL_THE_GATEWAY = """
kill -9 -- "-$server"; wait "$server"
reassignd serve --backend upstream --bootstrap-server 127.0.0.1:19092 --listener 127.0.0.1:29092 \\
  --http 127.0.0.1:29080 --data-dir ./gateway-data
"""
SECOND_INSTANCE = """
"$PYTHON" -m reassignd serve --backend upstream --state topic --bootstrap-server kafka1:9092,kafka2:9092 \\
  --listener 127.0.0.1:39092 --http 127.0.0.1:39080 --override gateway.peer.secret.file=peers.secret \\
  > second.out 2> second.log &
until grep --quiet '^ready: .*standby' second.out; do
  kill -0 $! || { cat second.out second.log; return 1; }
  sleep 0.1
done
"""

BEFORE_BLOCK = {
    ("README", "echo '{"): SPEED % 0.01,
    ("README", "export PATH"): SPEED % 0.03,
    ("README", "pip install -e '.[propose]'"): SPEED % 1,
    ("gateway", ".venv/bin/reassignd limits P=4"): KILL_THE_GATEWAY,
    ("guide", "python3 - > plan.json"): SPEED % 0.002,
    ("guide", "reassignd status"): "until reassignd status | grep --quiet COPIED; do sleep 0.2; done",
    ("guide", "reassignd rollback 1"): SPEED % 1,
    ("guide", "reassignd queue generate"): TOPICS_FILE,
    ("guide", "reassignd execute bad.json"): BAD_PLAN,
    ("high-availability", "reassignd instances --token-file"): SECOND_INSTANCE,
    ("recipes", "reassignd cancel --partition"): "reassignd pause && reassignd execute urgent.json",
    ("recipes", "reassignd execute urgent.json"): "reassignd broker slow 5 0 && reassignd execute plan.json",
    ("security", "reassignd serve --override http"): ACCESS_FILES,
}
"""Commands that are run before a block."""
