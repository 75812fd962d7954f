"""Refused requests of Cruise Control's API, with the texts that its clients look for.

Strimzi decides by parts of `errorMessage` of answers with status 500: the model is not ready, a broker does
not exist, another task runs. All other statuses only fail.
"""


class CruiseControlError(Exception):
    """A refused request: an HTTP status, and the text that says what to do."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def not_ready(reason: str) -> CruiseControlError:
    """Return the error of a request that can be tried again later: Strimzi waits and asks again."""
    return CruiseControlError(
        500, f"com.linkedin.cruisecontrol.exception.NotEnoughValidWindowsException: {reason}"
    )


def unknown_broker(broker: int) -> CruiseControlError:
    """Return the error of a request that names a broker that the cluster does not have."""
    return CruiseControlError(500, f"java.lang.IllegalArgumentException: Broker [{broker}] does not exist.")


def ongoing_execution(jobs: str) -> CruiseControlError:
    """Return the error of an execution while another one of this API runs."""
    return CruiseControlError(
        500,
        "com.linkedin.kafka.cruisecontrol.exception.OngoingExecutionException: Cannot execute new proposals"
        f" while {jobs} of this API runs; wait, or send stop_ongoing_execution=true.",
    )


def refused(reason: str) -> CruiseControlError:
    """Return the error of a request that cannot be met, with all reasons."""
    return CruiseControlError(
        500, f"com.linkedin.kafka.cruisecontrol.exception.OptimizationFailureException: {reason}"
    )


def bad_parameter(reason: str) -> CruiseControlError:
    """Return the error of a request with wrong parameters."""
    return CruiseControlError(400, reason)


def not_offered(reason: str) -> CruiseControlError:
    """Return the error of a request for what reassignd does not have.

    Cruise Control refuses in this way what its settings do not permit.
    """
    return CruiseControlError(403, reason)
