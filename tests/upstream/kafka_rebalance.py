"""Strimzi's resource KafkaRebalance: its states, and what its operator does in each of them."""

from collections.abc import Mapping
from typing import Any

from tests.clients.cluster import wait_for
from tests.clients.java_programs import AdminError, StrimziOperators

PATIENCE_SECONDS = 180
REMOVE_DISKS = "remove_disks"


class KafkaRebalance:
    """A resource that is reconciled with a server. `mode` is the endpoint."""

    def __init__(self, operators: StrimziOperators, mode: str = "rebalance", **options: str) -> None:
        self._operators, self._mode = operators, mode
        # The operator has no options for directories besides their names.
        common = {} if mode == REMOVE_DISKS else {"verbose": "true", "skip_hard_goal_check": "false"}
        self._options = common | options
        self.passed: list[str] = []
        """The states so far; the last one is the state now."""
        self.task = ""
        self.reason = ""
        self.result: Mapping[str, Any] = {}
        self._enter("New")

    @property
    def state(self) -> str:
        return self.passed[-1]

    @property
    def proposals(self) -> list[dict[str, Any]]:
        """The partitions that the plan changes."""
        rows: list[dict[str, Any]] = self.result["proposals"]
        return rows

    def reconcile(self) -> str:
        """Do what the operator does each time that it looks at the resource. Return the state."""
        try:
            match self.state:
                case "New":
                    self._request(dryrun=True)
                case "PendingProposal" if self.task:
                    self._look_at_proposal()
                case "PendingProposal":
                    self._request(dryrun=True)
                case "Rebalancing":
                    self._look_at_execution()
        except AdminError as error:
            self.reason = error.args[1]
            self._enter("NotReady")
        return self.state

    def until(self, *states: str) -> str:
        """Reconcile until the resource is in one of the states. Fails after PATIENCE_SECONDS."""

        def elsewhere() -> tuple[list[str], str] | None:
            return None if self.reconcile() in states else (self.passed, self.reason)

        wait_for(elsewhere, None, PATIENCE_SECONDS)
        return self.state

    def approve(self) -> None:
        """The annotation `approve`."""
        assert self.state == "ProposalReady"
        self._request(dryrun=False)

    def stop(self) -> None:
        """The annotation `stop`."""
        self._operators.do("stop")
        self._enter("Stopped")

    def refresh(self) -> None:
        """The annotation `refresh`: while it rebalances, that is stopped before."""
        if self.state == "Rebalancing":
            self._operators.do("stop")
        self._request(dryrun=True)

    def _enter(self, state: str) -> None:
        if not self.passed or self.state != state:
            self.passed.append(state)

    def _request(self, *, dryrun: bool) -> None:
        options = {"dryrun": str(dryrun).lower(), **self._options}
        answer = self._operators.do("plan", endpoint=self._mode, options=options)
        self.task = answer.get("task", "")
        self.result = answer if answer["state"] == "planned" else {}
        self.reason = answer.get("reason", "")
        if answer["state"] == "not ready":
            self._enter("PendingProposal")
            return
        if not dryrun:
            self._enter("Rebalancing")
            return
        self._enter("PendingProposal")
        if self.result:
            self._enter("ProposalReady")

    def _look_at_proposal(self) -> None:
        answer = self._operators.do("task", id=self.task)
        if answer["status"] == "lost":
            self._request(dryrun=True)
        elif answer["status"] == "CompletedWithError":
            self._enter("NotReady")
        elif "before" in answer and "after" in answer:
            self.result = answer
            self._enter("ProposalReady")

    def _look_at_execution(self) -> None:
        answer = self._operators.do("task", id=self.task)
        if answer["status"] == "lost":
            self._request(dryrun=True)
        elif answer["status"] == "Completed":
            self._enter("Ready")
        elif answer["status"] == "CompletedWithError":
            self._enter("NotReady")
