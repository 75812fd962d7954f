"""The throttles of open jobs."""

from dataclasses import dataclass, field

from controller.model.jobs import Job


@dataclass(eq=False, slots=True)
class JobRates:
    """The throttles of open jobs, each in bytes per second."""

    rates: dict[int, int] = field(default_factory=dict)
    """By job: the throttle of each open one that has one."""

    def follow_job(self, job: Job) -> None:
        """Take the throttle of the job while it is open."""
        if job.throttle and not job.ended_ms:
            self.rates[job.id] = job.throttle
        else:
            self.rates.pop(job.id, None)

    def forget_job(self, number: int) -> None:
        """The job was deleted."""
        self.rates.pop(number, None)
