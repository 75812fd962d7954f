"""Hypothesis settings for all tests.

There is no deadline, because the machine may be busy with other work.
"""

from hypothesis import HealthCheck, settings

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
