"""What tools ask of every broker, and reassignd's own id has nothing to say to: ListGroups (16), DescribeLogDirs (35), ListTransactions (66).

On that id's port the upstream's answer would show another broker's groups and directories twice. It is asked all the
same, since it knows who may ask; errors pass.
"""

from typing import Any

from protocol.apis import ApiKey
from protocol.frames import encode_request, parse_request
from protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from protocol.messages.describe_log_dirs_response import DescribeLogDirsResponse, DescribeLogDirsResult
from server.gateway.exchange import Asked, Client, Exchange, Rule, rewritten

LOG_DIR = "reassignd"
"""Of no topics. Java's Admin takes a broker without directories for one that refused."""


def log_dirs(asked: Asked, _client: Client) -> Exchange | int:
    """The rule of DescribeLogDirs: the upstream is asked about no topics."""
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


def emptied(field: str) -> Rule:
    """The rule of a list of which ours is empty."""

    def empty(response: Any) -> Any:
        return response if response.error_code else response._replace(**{field: ()})

    return lambda asked, _client: Exchange(finish=rewritten(asked, empty))


OWN: dict[int, Rule] = {
    ApiKey.LIST_GROUPS: emptied("groups"),
    ApiKey.DESCRIBE_LOG_DIRS: log_dirs,
    ApiKey.LIST_TRANSACTIONS: emptied("transaction_states"),
}
"""By API key."""
