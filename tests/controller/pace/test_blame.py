from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from controller.pace.blame import Ratio, Taking, broker_ratios


def blamed(ratios: Mapping[Taking, float]) -> dict[int, float]:
    """Return the ratios of brokers."""
    found = broker_ratios({taking: Ratio(ratio) for taking, ratio in ratios.items()})
    return {broker: ratio.now for broker, ratio in found.items()}


def test_a_broker_is_slow_if_all_its_probes_are() -> None:
    assert blamed({(1, (2,)): 0.5, (2, (3,)): 3.0, (3, (4,)): 2.0, (4, (1,)): 0.5}) == {
        1: 0.5,
        2: 0.5,
        3: 2.0,
        4: 0.5,
    }


def test_a_slow_probe_of_fast_brokers_is_the_leaders() -> None:
    assert blamed({(1, (2,)): 3.0, (2, (1,)): 0.5}) == {1: 3.0, 2: 0.5}


def test_without_followers_each_broker_has_its_own_ratio() -> None:
    assert blamed({(1, ()): 3.0, (2, ()): 0.5}) == {1: 3.0, 2: 0.5}


@given(
    st.dictionaries(
        st.tuples(st.integers(1, 6), st.tuples(st.integers(1, 6))), st.floats(0.1, 10), max_size=12
    )
)
def test_every_slow_probe_has_a_slow_broker_and_every_slow_broker_a_slow_probe(
    ratios: dict[Taking, float],
) -> None:
    found = blamed(ratios)
    for (leader, followers), ratio in ratios.items():
        if ratio > 1:
            assert max(found[broker] for broker in (leader, *followers)) > 1
    for broker, ratio in found.items():
        if ratio > 1:
            assert any(each > 1 and broker in (key[0], *key[1]) for key, each in ratios.items())
