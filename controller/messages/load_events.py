"""The event of measured load."""

from dataclasses import dataclass

from controller.messages.event import Event
from controller.model.load_hours import LoadHours


@dataclass(frozen=True, slots=True)
class HoursMeasured(Event[None]):
    """An hour has ended, and these partitions have been measured. A record with this number is replaced."""

    hours: LoadHours
