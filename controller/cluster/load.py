"""Measured load: keep the hours of the day."""

from controller.messages.load_events import HoursMeasured
from controller.state.state import Decision


def hours_measured(d: Decision, event: HoursMeasured) -> None:
    """Keep the hours of some partitions."""
    d.put(event.hours)
    d.answer(event, None)
