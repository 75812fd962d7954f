import pytest

from backends.zookeeper.term.broker_protocol import parse_protocol


@pytest.mark.parametrize(
    ("version", "requests", "by_request", "ids"),
    [
        ("2.2", (2, 5, 1), False, False),
        ("2.4-IV0", (3, 5, 1), False, False),
        ("2.4", (4, 6, 2), False, False),
        ("2.6", (4, 6, 3), False, False),
        ("2.7", (4, 6, 3), True, False),
        ("2.8", (5, 7, 3), True, True),
        ("3.2.1", (6, 7, 3), True, True),
        ("3.9", (7, 8, 4), True, True),
    ],
)
def test_a_version_determines_request_versions_and_features(
    version: str, requests: tuple[int, ...], by_request: bool, ids: bool
) -> None:
    found = parse_protocol(version)
    assert (found.versions[:3], found.isr_by_request, found.topic_ids) == (requests, by_request, ids)


@pytest.mark.parametrize("version", ["", "two", "2.1", "4.0", "0.10.2"])
def test_an_unsupported_version_is_an_error(version: str) -> None:
    with pytest.raises(ValueError, match=r"inter\.broker\.protocol\.version"):
        parse_protocol(version)
