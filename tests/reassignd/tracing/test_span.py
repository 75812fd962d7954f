from controller.model.cluster import Job, JobKind
from reassignd.tracing.span import trace_ids

JOB = Job(3, JobKind.PLAN, 1_000, "User:ann", None)


def test_the_ids_of_a_job_are_the_same_after_a_restart() -> None:
    assert trace_ids("c1", JOB) == trace_ids("c1", JOB._replace(total=5, ended_ms=2_000))


def test_each_job_of_each_cluster_has_a_trace_of_its_own() -> None:
    jobs = [JOB, JOB._replace(id=4), JOB._replace(created_ms=2_000)]
    assert len({trace_ids(cluster, job) for cluster in ("c1", "c2") for job in jobs}) == 6


def test_the_ids_have_the_sizes_of_opentelemetry() -> None:
    ids = trace_ids("c1", JOB)
    assert 0 < ids.trace < 2**128
    assert 0 < ids.root < 2**64
