"""`POST /stop_proposal_execution`: cancel what this API executes."""

from typing import Annotated

from msgspec import Meta

from controller.messages.events import AlterReassignments
from controller.messages.job_events import AlterRow, AlterTopic
from server.api.shared.errors import require
from server.api.shared.plans import count_accepted
from server.cruisecontrol.shared.answers import Message
from server.cruisecontrol.shared.call import CruiseControlCall, Endpoint
from server.cruisecontrol.shared.executions import any_runs, stop_executions
from server.cruisecontrol.shared.parameters import Parameters


class StopParameters(Parameters, kw_only=True):
    """What is stopped."""

    force_stop: Annotated[bool, Meta(description="No effect: a stop returns what is in flight.")] = False
    stop_external_agent: Annotated[
        bool | None, Meta(description="Cancel reassignments that others have sent to Kafka, too.")
    ] = None


async def stop_proposal_execution(call: CruiseControlCall, given: StopParameters) -> Message:
    """Cancel, and wait until what was in flight is undone."""
    stopped = await stop_executions(call)
    jobs = ", ".join(f"job {job.id}" for job in stopped)
    text = f"{jobs} cancelled" if jobs else "nothing is being executed by this API"
    if any_runs(call.state, stopped):
        text += "; not all of it is undone yet"
    external = list(call.state.gateway.external) if given.stop_external_agent else []
    if external:
        rows = (AlterTopic(key.topic, [AlterRow(key.partition, None)]) for key in external)
        cancels = await call.call.collect(rows)
        reply = await call.call.submit(AlterReassignments(cancels, requester=call.call.requester))
        require(reply.outcome)
        cancelled = await call.call.off_loop.run(count_accepted, reply.topics)
        text += f"; {cancelled} of {len(external)} reassignments of others cancelled"
    return Message(f"Proposal execution stopped: {text}.")


ENDPOINTS = (
    Endpoint(
        "POST",
        "stop_proposal_execution",
        "Cancel what this API executes.",
        StopParameters,
        stop_proposal_execution,
    ),
)
