"""`/v1/access`: who may use the API. What they show is not shown."""

from typing import Annotated

from msgspec import Meta, Struct

from server.api.shared.call import Call, Endpoint

LISTED = 1_000
"""Names in an answer."""


class GrantedName(Struct):
    """A name with its role."""

    principal: str
    role: Annotated[str, Meta(description="`viewer`: may read; `operator`: may also change.")]
    shows: Annotated[str, Meta(description="`token` or `certificate`.")]


class AccessRules(Struct):
    """Who may use the API."""

    users: Annotated[
        str,
        Meta(
            description="The users of this machine who are operators without a token, in words; empty if "
            "there are none."
        ),
    ]
    names: Annotated[list[GrantedName], Meta(description="The first 1,000 names, by role and name.")]
    more: Annotated[int, Meta(description="Names that are not listed.")]
    any_certificate: Annotated[
        bool, Meta(description="Every client with a certificate of the authority is an operator.")
    ]


async def access(call: Call) -> AccessRules:
    """Return who may use the API now."""
    granted = call.granted()
    ordered = sorted(granted.grants, key=lambda each: (-each[0].role, each[0].principal))
    names = [GrantedName(who.principal, who.role.label, shows) for who, shows in ordered[:LISTED]]
    return AccessRules(granted.users, names, len(ordered) - len(names), granted.any_certificate)


ENDPOINTS = (
    Endpoint("GET", "/v1/access", "List who may use the API, and in which role.", access, AccessRules),
)
