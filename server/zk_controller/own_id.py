"""What tools ask of every broker, and reassignd's own id has nothing to say to: ListGroups (16), DescribeLogDirs (35), ListTransactions (66).

A broker's answer would show the groups and directories of that broker twice. The broker is asked all the same, since it
knows who may ask; errors pass.
"""

from typing import Any

from protocol.apis import ApiKey, find_api
from protocol.frames import encode_request, parse_request
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse, DescribeLogDirsResult
from server.relay.exchange import PASSED, Asked, Client, Exchange, Rule, rewritten

LOG_DIR = "reassignd"
"""Of no topics. Java's Admin takes a broker without directories for one that refused."""


def log_dirs(asked: Asked, _client: Client) -> Exchange | int:
    """The rule of DescribeLogDirs: the broker is asked about no topics."""
    if asked.api_version not in _versions(ApiKey.DESCRIBE_LOG_DIRS):
        return PASSED
    if not asked.whole:
        return asked.size
    request = parse_request(bytes(asked.frame))
    upstream = encode_request(
        DescribeLogDirsRequest(topics=()), asked.api_version, asked.correlation_id, request.client_id
    )
    return Exchange(upstream, rewritten(asked, _one_dir))


def _one_dir(response: DescribeLogDirsResponse) -> DescribeLogDirsResponse:
    if response.error_code or not response.results:
        return response
    return response._replace(results=[DescribeLogDirsResult(log_dir=LOG_DIR)])


def emptied(key: ApiKey, field: str) -> Rule:
    """The rule of a list of which ours is empty."""

    def empty(response: Any) -> Any:
        return response if response.error_code else response._replace(**{field: ()})

    def ask(asked: Asked, _client: Client) -> Exchange:
        return Exchange(finish=rewritten(asked, empty)) if asked.api_version in _versions(key) else PASSED

    return ask


def _versions(key: ApiKey) -> range:
    """Those whose messages we know. A broker may serve others: their answers pass as they are."""
    api = find_api(key)
    return range(0) if api is None else api.versions


OF_EACH_BROKER: dict[int, Rule] = {
    ApiKey.LIST_GROUPS: emptied(ApiKey.LIST_GROUPS, "groups"),
    ApiKey.DESCRIBE_LOG_DIRS: log_dirs,
    ApiKey.LIST_TRANSACTIONS: emptied(ApiKey.LIST_TRANSACTIONS, "transaction_states"),
}
"""By API key."""
