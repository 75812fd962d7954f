"""DescribeUserScramCredentials (50), version 0.

KIP: 554. Null or no users mean all. Passwords and salts are never returned.
ACL: DESCRIBE on the cluster.
Errors: CLUSTER_AUTHORIZATION_FAILED; by user RESOURCE_NOT_FOUND, DUPLICATE_RESOURCE.
"""

from collections import defaultdict
from collections.abc import Mapping

from common.error_codes import ErrorCode
from controller.model.access import Operation, ScramCredential
from protocol.apis import ApiKey
from protocol.messages.describe_user_scram_credentials_request import DescribeUserScramCredentialsRequest
from protocol.messages.describe_user_scram_credentials_response import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from protocol.scram import SCRAM_MECHANISMS
from server.dispatch.context import (
    Context,
    repeated,
)
from server.dispatch.registry import handles


def refuse(
    request: DescribeUserScramCredentialsRequest, code: int, message: str | None
) -> DescribeUserScramCredentialsResponse:
    """Return the error alone and, as Kafka does, for each requested user without its name."""
    rows = [DescribeUserScramCredentialsResult("", code, message)] * len(request.users or ())
    return DescribeUserScramCredentialsResponse(error_code=code, error_message=message, results=rows)


@handles(
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    DescribeUserScramCredentialsRequest,
    versions=(0, 0),
    operation=Operation.DESCRIBE,
    refuse=refuse,
)
def handle(
    request: DescribeUserScramCredentialsRequest, context: Context
) -> DescribeUserScramCredentialsResponse:
    """List mechanisms and iterations of the users."""
    known: defaultdict[str, list[CredentialInfo]] = defaultdict(list)
    for credential in context.state.scram_credentials.values():
        known[credential.user].append(_info(credential))
    names = [user.name for user in request.users or ()]
    duplicates = repeated(names)
    results = [_row(name, known, duplicates) for name in dict.fromkeys(names or sorted(known))]
    return DescribeUserScramCredentialsResponse(results=results)


def _info(credential: ScramCredential) -> CredentialInfo:
    return CredentialInfo(SCRAM_MECHANISMS[credential.mechanism].number, credential.iterations)


def _row(
    user: str, known: Mapping[str, list[CredentialInfo]], duplicates: set[str]
) -> DescribeUserScramCredentialsResult:
    if user in duplicates:
        code = ErrorCode.DUPLICATE_RESOURCE
        text = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
    elif user not in known:
        code = ErrorCode.RESOURCE_NOT_FOUND
        text = f"Attempt to describe a user credential that does not exist: {user}"
    else:
        return DescribeUserScramCredentialsResult(user, 0, "", sorted(known[user]))
    return DescribeUserScramCredentialsResult(user, code, text)
