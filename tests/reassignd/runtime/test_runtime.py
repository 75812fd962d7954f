import pytest

from reassignd.runtime.runtime import HttpContent, Publication


def obstacles(*steps: HttpContent | str | None) -> list[str | None]:
    """Return what was published: contents, errors of the upstream, and None for an answer."""
    published: list[HttpContent] = []
    publication = Publication(published.append)
    for step in steps:
        match step:
            case HttpContent():
                publication.show(step)
            case str():
                publication.cut_off(step, 6)
            case None:
                publication.answered()
    return [each.obstacle for each in published]


def test_content_is_published_with_its_own_obstacle() -> None:
    assert obstacles(HttpContent("starting"), HttpContent(None)) == ["starting", None]


def test_the_first_error_is_shown_until_the_upstream_answers() -> None:
    shown = obstacles(HttpContent(None), "refused", "no answer", HttpContent(None), None)
    assert shown[0] is shown[-1] is None
    assert shown[1] == shown[2]
    assert len(shown) == 4
    assert "cannot be reached since" in (shown[1] or "")
    assert (shown[1] or "").endswith(": refused")


def test_an_obstacle_of_the_content_is_shown_before_that_of_the_upstream() -> None:
    assert obstacles("refused", HttpContent("no topic"))[-1] == "no topic"


def test_the_loss_and_the_return_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    obstacles(HttpContent(None), "refused", "refused", None, None)
    assert len(caplog.messages) == 2
