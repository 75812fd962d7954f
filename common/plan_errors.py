"""What ends a plan: one line for the person who asked for it."""


class PlanError(Exception):
    """Something is wrong with the plan, the snapshot or the set-up; the text names what, and what to do."""
