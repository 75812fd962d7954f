"""`/v1/throughput`."""

from collections import Counter

from server.progress.rates import SAMPLE_SECONDS, Transfer
from tests.server.api.api_client import ApiClient


async def test_it_has_a_number_for_each_registered_broker_and_time() -> None:
    client = ApiClient()
    kept = client.progress.throughput
    kept.add(SAMPLE_SECONDS, Transfer(Counter({1: 1500}), Counter({2: 1500})), 500)
    kept.add(SAMPLE_SECONDS, Transfer(Counter(), Counter(), {9}, {2}), None)
    answer = await client.get("/v1/throughput")
    assert (answer["sample_ms"], len(answer["times"]), answer["throttles"]) == (15_000, 2, [500, None])
    brokers = {each["id"]: (each["incoming"], each["outgoing"]) for each in answer["brokers"]}
    assert sorted(brokers) == [1, 2, 3, 4, 5, 6, 9]
    assert (brokers[1], brokers[2]) == (([100, 0], [0, 0]), ([0, 0], [100, None]))
    assert brokers[9] == ([0, None], [0, 0])


async def test_only_samples_after_a_time_can_be_requested() -> None:
    client = ApiClient()
    client.progress.throughput.add(SAMPLE_SECONDS, Transfer(Counter({1: 1}), Counter()), None)
    [time] = (await client.get("/v1/throughput"))["times"]
    answer = await client.get(f"/v1/throughput?since={time}")
    assert (answer["times"], answer["brokers"][0]["incoming"]) == ([], [])
    assert (await client.ask("GET", "/v1/throughput?since=-1"))[0] == 400
