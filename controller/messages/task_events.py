"""The event of a user task of Cruise Control's API."""

from dataclasses import dataclass

from controller.messages.event import Event
from controller.model.tasks import UserTask


@dataclass(frozen=True, slots=True)
class TaskEnded(Event[None]):
    """The result of a task is known. It is kept for a while, and older ones are dropped."""

    task: UserTask
