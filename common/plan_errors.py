"""The error of a plan that cannot be used."""


class PlanError(Exception):
    """The plan, the snapshot or the installation cannot be used.

    The text is one line with the fault and the remedy.
    """
