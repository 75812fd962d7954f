"""The embedded cluster and real Kafka run the same reassignment scripts and are equal at each pause."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from reassignd.embedded import EmbeddedCluster
from reassignd.testing.blocking import BlockingCluster
from tests.upstream.script_clusters import Answers, EmbeddedScripts, KafkaScripts, States
from tests.upstream.scripts import SCRIPTS, Pause
from tools.kafka_cluster import running_kafka
from tools.kafka_settings import SMALL_FETCHES, SOON_FENCED, Spec

DIFFERENCES = Path(__file__).parents[2] / "docs" / "differences.md"


class Seen(NamedTuple):
    """The answers to the orders before a pause, and the states at the pause."""

    answers: Answers
    states: States


@pytest.fixture(scope="module")
def here() -> Mapping[Pause, Seen]:
    """What the embedded cluster shows."""
    seen = {}
    make = partial(EmbeddedCluster, 6, settings={"embedded.partition.bytes": "1000"})
    with BlockingCluster(make) as cluster, closing(EmbeddedScripts(cluster)) as scripts:
        scripts.begin()
        for pause in Pause:
            scripts.change(pause)
            seen[pause] = Seen(scripts.order(pause), scripts.stable())
    return seen


def unlike(pause: Pause, release: str) -> Iterator[tuple[str, str]]:
    """Yield the scripts that differ at the pause, and the state in Kafka."""
    for name, script in SCRIPTS.items():
        for each in script.unlike:
            if pause in each.pauses and release in each.releases:
                yield name, each.kafka


def test_each_difference_is_documented_and_is_one(here: Mapping[Pause, Seen]) -> None:
    assert len(SCRIPTS) >= 30
    text = " ".join(DIFFERENCES.read_text().split())
    for name, script in SCRIPTS.items():
        for each in script.unlike:
            assert each.reason in text
            assert each.here != each.kafka
            assert {here[pause].states[name] for pause in each.pauses} == {each.here}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("release", ["4.1", "4.3"])
def test_kafka_is_equal_at_each_pause(release: str, here: Mapping[Pause, Seen], tmp_path: Path) -> None:
    spec = Spec(6, release, log_dirs=1, settings=SOON_FENCED | SMALL_FETCHES)
    with running_kafka(spec, folder=tmp_path) as kafka, closing(KafkaScripts(kafka)) as scripts:
        scripts.begin()
        differences = []
        for pause in Pause:
            scripts.change(pause)
            answers, states = here[pause]
            expected = {**states, **dict(unlike(pause, release))}
            given, found = scripts.order(pause), scripts.reached(expected)
            differences += [
                (pause, name, given.get(name), found[name], answers.get(name), expected[name])
                for name in SCRIPTS
                if (given.get(name), found[name]) != (answers.get(name), expected[name])
            ]
    assert differences == []
