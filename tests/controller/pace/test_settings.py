from controller.pace.settings import PaceSettings, pace_settings


def test_pace_is_off_by_default() -> None:
    assert pace_settings({}) is None
    assert pace_settings({"reassignment.pace": "off"}) is None


def test_the_default_target_is_a_multiple_of_the_idle_latency() -> None:
    settings = pace_settings({"reassignment.pace": "auto"})
    assert settings == PaceSettings()
    assert settings.target(4.0) == 6.0
    assert settings.target(None) is None
    assert settings.text == "1.5 times the idle latency"


def test_a_latency_in_ms_replaces_the_factor() -> None:
    settings = pace_settings(
        {
            "reassignment.pace": "auto",
            "reassignment.pace.produce.latency.ms": "10",
            "reassignment.pace.produce.latency.factor": "3",
            "reassignment.pace.unreachable": "hold",
        }
    )
    assert settings == PaceSettings(10.0, 3.0, holds=True)
    assert settings.target(4.0) == settings.target(None) == 10.0
    assert settings.text == "10 ms"
