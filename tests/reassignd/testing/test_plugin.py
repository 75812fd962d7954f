"""The plugin runs in test runs of other projects, which pytester starts."""

import sys
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.whole

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]

ADMIN = """
    from kafka import TopicPartition
    from kafka.admin import KafkaAdminClient

    def move(servers, topic, replicas):
        admin = KafkaAdminClient(bootstrap_servers=servers)
        answers = admin.alter_partition_reassignments({TopicPartition(topic, 0): replicas})
        admin.close()
        assert set(answers.values()) == {None}
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a file of tests with the plugin and pytest-asyncio only."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)

    def run(source: str, ini: str = "") -> pytest.RunResult:
        pytester.makeini(f"[pytest]\n{ini}")
        pytester.makepyfile(client=ADMIN, test_it=source)
        plugins = ("-p", "pytest_asyncio.plugin", "-p", "reassignd.testing.plugin")
        return pytester.runpytest_subprocess(*plugins, timeout=120)

    return run


def test_a_blocking_client_moves_a_partition(run: Run) -> None:
    result = run(
        """
        from client import move

        def test_a_move(reassignd_cluster):
            reassignd_cluster.create_topic("orders", [[1, 2]])
            move(reassignd_cluster.bootstrap_servers, "orders", [3, 2])
            reassignd_cluster.wait_until_done("orders")
            moved = reassignd_cluster.read(lambda state: state.cluster.partition("orders", 0))
            assert moved.replicas == (3, 2)
    """,
        "reassignd_partition_bytes = 1000",
    )
    result.assert_outcomes(passed=1)


def test_an_async_test_has_the_cluster_on_its_loop(run: Run) -> None:
    result = run("""
        import asyncio, pytest
        from client import move

        @pytest.mark.asyncio
        @pytest.mark.reassignd(partition_bytes=1000, brokers=4)
        async def test_a_move(reassignd_cluster_async):
            await reassignd_cluster_async.create_topic("orders", [[1, 2]])
            await asyncio.to_thread(move, reassignd_cluster_async.bootstrap_servers, "orders", [4, 2])
            await reassignd_cluster_async.wait_until_done()
            assert reassignd_cluster_async.state.cluster.partition("orders", 0).replicas == (4, 2)
    """)
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(("ini", "passed"), [("", 0), ("asyncio_default_fixture_loop_scope = module", 1)])
def test_an_async_test_on_another_loop_than_its_cluster_does_not_hang(
    run: Run, ini: str, passed: int
) -> None:
    source = """
        import pytest

        @pytest.mark.asyncio(loop_scope="module")
        async def test_it(reassignd_cluster_async):
            await reassignd_cluster_async.create_topic("orders", [[1]])
    """
    result = run(source, ini)
    result.assert_outcomes(passed=passed, failed=1 - passed)
    if not passed:
        result.stdout.fnmatch_lines("*RuntimeError: the cluster runs in another event loop than this call*")


def test_with_a_manual_clock_a_move_waits_for_the_test(run: Run) -> None:
    result = run("""
        import pytest
        from client import move

        @pytest.mark.reassignd(clock="manual")
        def test_a_fault(reassignd_cluster):
            reassignd_cluster.create_topic("orders", [[1, 2]])
            reassignd_cluster.slow_broker(3, 0)
            move(reassignd_cluster.bootstrap_servers, "orders", [3, 2])
            reassignd_cluster.expect_moving("orders", adding=[3], removing=[1])
            late = r"1 partition is not done: orders-0 is at .*copies to \\[3\\]"
            with pytest.raises(TimeoutError, match=late):
                reassignd_cluster.wait_until_done(seconds=20)
            reassignd_cluster.slow_broker(3, 1)
            reassignd_cluster.wait_until_done(seconds=600)
    """)
    result.assert_outcomes(passed=1)


def test_a_cluster_imports_neither_http_nor_metrics(run: Run) -> None:
    result = run("""
        import sys

        def test_modules(reassignd_cluster):
            unused = {"h11", "httpx", "kazoo", "prometheus_client", "starlette"}
            assert unused.isdisjoint(sys.modules)
    """)
    result.assert_outcomes(passed=1)


def test_the_shared_cluster_is_one_for_all_tests(run: Run) -> None:
    result = run("""
        import pytest
        seen = set()

        @pytest.mark.parametrize("number", range(50))
        def test_a_topic(reassignd_shared_cluster, number):
            reassignd_shared_cluster.create_topic(f"orders-{number}", [[1]])
            seen.add(reassignd_shared_cluster.bootstrap_servers)
            assert len(seen) == 1
    """)
    result.assert_outcomes(passed=50)


def test_the_report_of_a_wait_that_failed_ends_in_the_test(run: Run) -> None:
    result = run("""
        import pytest
        from client import move

        @pytest.mark.reassignd(clock="manual")
        def test_a_fault(reassignd_cluster):
            reassignd_cluster.create_topic("orders", [[1, 2]])
            reassignd_cluster.stop_broker(3)
            move(reassignd_cluster.bootstrap_servers, "orders", [3, 2])
            reassignd_cluster.wait_until_done(seconds=1)
    """)
    result.assert_outcomes(failed=1)
    result.stdout.re_match_lines([r"E +TimeoutError: .*offline: broker 3", r"test_it.py:\d+: TimeoutError"])
    result.stdout.no_fnmatch_line("*blocking.py:*")


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("broker=4", "the marker reassignd has no argument broker; it has brokers, "),
        ("4", r"takes named arguments only: reassignd\(brokers=4\)"),
        ("clock='fast'", "the argument clock of the marker reassignd must be real or manual, not 'fast'"),
        (
            "brokers=0",
            r"the argument brokers of the marker reassignd must be an integer in \[1, 1000\], not 0",
        ),
        ("settings=['tick']", r"the argument settings of .* must be a dict of settings, not \['tick'\]"),
        ("settings={'tick': '1'}", "reassignd: EmbeddedCluster: unknown key 'tick'"),
        ("settings={'listener.tls.certificate.file': 'no.pem'}", "cannot use the listener.tls files: no.pem"),
    ],
)
def test_a_wrong_marker_is_named_without_a_traceback(run: Run, marker: str, message: str) -> None:
    result = run(f"""
        import pytest

        @pytest.mark.reassignd({marker})
        def test_it(reassignd_cluster):
            pass
    """)
    result.assert_outcomes(errors=1)
    result.stdout.re_match_lines([f".*{message}"])
    result.stdout.no_fnmatch_line("*.py:[0-9]*: *")
    result.stdout.no_fnmatch_line("*another exception*")


@pytest.mark.parametrize("name", ["reassigned", "reassignd_cluster", "reasignd"])
def test_a_mistyped_marker_is_an_error(run: Run, name: str) -> None:
    result = run(f"""
        import pytest

        @pytest.mark.{name}(brokers=4)
        def test_it(reassignd_cluster): pass
    """)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.re_match_lines([rf".*::test_it: unknown marker {name}; the marker of reassignd's clusters"])


def test_markers_of_others_are_left_alone(run: Run) -> None:
    tests = """
        import pytest

        @pytest.mark.reassigned
        def test_mine(reassignd_cluster): pass

        @pytest.mark.reassignd_slow
        def test_without_a_cluster(): pass
    """
    run(tests, "markers = reassigned: one of mine").assert_outcomes(passed=2)


def test_a_marker_cannot_change_the_shared_cluster(run: Run) -> None:
    result = run("""
        import pytest
        pytestmark = pytest.mark.reassignd(brokers=4)

        def test_shared(reassignd_shared_cluster): pass

        def test_own(reassignd_cluster): pass
    """)
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.re_match_lines([".*the marker reassignd has no effect on reassignd_shared_cluster"])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("reassignd_brokers = many", "the option reassignd_brokers must be an integer in *, not 'many'"),
        ("reassignd_clock = fast", "the option reassignd_clock must be real or manual, not 'fast'"),
        ("reassignd_settings = tick", "the option reassignd_settings: =VALUE is missing after 'tick'"),
    ],
)
def test_a_wrong_option_is_named(run: Run, option: str, message: str) -> None:
    result = run("def test_it(reassignd_cluster): pass", option)
    result.stdout.fnmatch_lines([f"*{message}*"])


def test_options_describe_the_clusters_of_all_tests(run: Run) -> None:
    result = run(
        """
        def test_it(reassignd_cluster, reassignd_shared_cluster):
            for cluster in (reassignd_cluster, reassignd_shared_cluster):
                cluster.advance(1)
                racks = cluster.read(lambda state: {each.rack for each in state.cluster.brokers.values()})
                assert racks == {"rack-a"}
    """,
        "reassignd_clock = manual\nreassignd_racks = 1",
    )
    result.assert_outcomes(passed=1)


def test_without_pytest_asyncio_the_fixture_tells_what_it_needs(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(
        pytest_asyncio="raise ImportError",
        test_it="async def test_it(reassignd_cluster_async): pass",
    )
    plugin = ("-m", "pytest", "-p", "reassignd.testing.plugin")
    result = pytester.run(sys.executable, *plugin, timeout=120)
    result.stdout.fnmatch_lines(
        ["*reassignd_cluster_async needs pytest-asyncio: pip install pytest-asyncio*"]
    )
