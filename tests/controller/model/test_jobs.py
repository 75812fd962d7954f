from controller.model.jobs import Ending, Finished, Job, JobKind, Pending
from tests.builders import key


def test_the_records_of_jobs_have_job_and_partition_as_key() -> None:
    assert Job(7, JobKind.PLAN, 0, "User:a", None).key == 7
    assert Finished(7, "foo", 0, (1,), (2,), Ending.DONE).key == (7, key("foo-0"))
    assert Pending("foo", 0, (1,), 7).key == key("foo-0")
