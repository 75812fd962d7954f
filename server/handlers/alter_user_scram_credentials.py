"""AlterUserScramCredentials (51), version 0.

KIP: 554. A request may make one change of each user.
ACL: ALTER on the cluster.
Errors by user: CLUSTER_AUTHORIZATION_FAILED, UNACCEPTABLE_CREDENTIAL, UNSUPPORTED_SASL_MECHANISM,
DUPLICATE_RESOURCE, RESOURCE_NOT_FOUND.
"""

from controller.messages.events import AlterScramCredentials, UserChange
from controller.model.access import Operation
from protocol.apis import ApiKey
from protocol.codec.errors import ApiError
from protocol.messages.alter_user_scram_credentials_request import AlterUserScramCredentialsRequest
from protocol.messages.alter_user_scram_credentials_response import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from server.dispatch.context import (
    Context,
    RowError,
    merged,
)
from server.dispatch.registry import handles
from server.security.scram_credentials import BOUNDS, only_change_of, users_in


def refuse(
    request: AlterUserScramCredentialsRequest, code: int, message: str | None
) -> AlterUserScramCredentialsResponse:
    """Repeat the error for every user."""
    return _response(users_in(request), [(code, message)] * len(users_in(request)))


@handles(
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    AlterUserScramCredentialsRequest,
    versions=(0, 0),
    operation=Operation.ALTER,
    refuse=refuse,
    bounds=BOUNDS,
)
async def handle(
    request: AlterUserScramCredentialsRequest, context: Context
) -> AlterUserScramCredentialsResponse:
    """Submit the changes of valid users to the controller."""
    users = users_in(request)
    refusals: list[RowError | None] = []
    accepted = []
    for user in users:
        try:
            accepted.append(UserChange(user, only_change_of(request, user, context.state.scram_credentials)))
            refusals.append(None)
        except ApiError as error:
            refusals.append((error.code, error.message))
    event = AlterScramCredentials(accepted, context.requester)
    outcomes = await context.services.driver.submit(event)
    return _response(users, merged(refusals, outcomes))


def _response(users: list[str], errors: list[RowError]) -> AlterUserScramCredentialsResponse:
    rows = zip(users, errors, strict=True)
    return AlterUserScramCredentialsResponse(
        results=[AlterUserScramCredentialsResult(user, code, message) for user, (code, message) in rows]
    )
