"""Kafka's names of APIs, by key: also of those that are only relayed."""

from typing import Final

from protocol.apis import OTHER_API, ApiKey

OTHER_NAMES: Final = {
    8: "OffsetCommit",
    9: "OffsetFetch",
    11: "JoinGroup",
    12: "Heartbeat",
    13: "LeaveGroup",
    14: "SyncGroup",
    15: "DescribeGroups",
    21: "DeleteRecords",
    23: "OffsetForLeaderEpoch",
    25: "AddOffsetsToTxn",
    27: "WriteTxnMarkers",
    28: "TxnOffsetCommit",
    38: "CreateDelegationToken",
    39: "RenewDelegationToken",
    40: "ExpireDelegationToken",
    41: "DescribeDelegationToken",
    42: "DeleteGroups",
    47: "OffsetDelete",
    49: "AlterClientQuotas",
    55: "DescribeQuorum",
    57: "UpdateFeatures",
    61: "DescribeProducers",
    64: "UnregisterBroker",
    65: "DescribeTransactions",
    68: "ConsumerGroupHeartbeat",
    69: "ConsumerGroupDescribe",
    74: "ListConfigResources",
    76: "ShareGroupHeartbeat",
    77: "ShareGroupDescribe",
    78: "ShareFetch",
    79: "ShareAcknowledge",
    80: "AddRaftVoter",
    81: "RemoveRaftVoter",
    83: "InitializeShareGroupState",
    84: "ReadShareGroupState",
    85: "WriteShareGroupState",
    86: "DeleteShareGroupState",
    87: "ReadShareGroupStateSummary",
    88: "StreamsGroupHeartbeat",
    89: "StreamsGroupDescribe",
    90: "DescribeShareGroupOffsets",
    91: "AlterShareGroupOffsets",
    92: "DeleteShareGroupOffsets",
    OTHER_API: "other",
}
"""Those that `ApiKey` does not have (Kafka: ApiKeys)."""


def api_name(key: int) -> str:
    """Return Kafka's name of the API, such as `AlterPartitionReassignments`; the number if it is unknown."""
    try:
        return ApiKey(key).name.title().replace("_", "")
    except ValueError:
        return OTHER_NAMES.get(key, str(key))
