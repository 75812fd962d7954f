"""For all tests: how long an example of a property takes says nothing on a machine that is busy with other things."""

from hypothesis import HealthCheck, settings

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
