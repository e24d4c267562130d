"""Whether somebody may."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from kubesched.clock import VirtualClock
from kubesched.errors import ApiStatusError, ConfigurationError
from kubesched.serving.authorization import AuthorizationOptions, Authorizer, PathPatterns
from kubesched.serving.users import ANONYMOUS, User

if TYPE_CHECKING:
    from tests.unit.serving.conftest import FakeReviews

ANN = User(name="ann", uid="7", groups=("devs",), extra={"k": ("v",)})


@pytest.mark.parametrize(
    ("patterns", "path", "matches"),
    [
        pytest.param(["/healthz"], "/healthz", True, id="the very path"),
        pytest.param(["healthz"], "/healthz", True, id="the leading slash is optional"),
        pytest.param(["/healthz"], "/healthz/ping", False, id="not what lies under it"),
        pytest.param(["/healthz*"], "/healthz/ping", True, id="a prefix with a star"),
        pytest.param(["/"], "/", True, id="the root"),
        pytest.param(["/"], "/metrics", False, id="the root is not everything"),
        pytest.param(["*"], "/metrics", True, id="a lone star is"),
        pytest.param([], "/healthz", False, id="no patterns"),
    ],
)
def test_a_path_pattern(patterns: list[str], path: str, matches: bool) -> None:
    """As --authorization-always-allow-paths documents them."""
    assert PathPatterns(patterns).match(path) is matches


def test_a_star_in_the_middle_is_refused() -> None:
    """It would look like a glob and be none."""
    with pytest.raises(ConfigurationError, match=r'only trailing \* allowed in "a\*b"'):
        PathPatterns(["/a*b"])


async def test_some_requests_need_no_review(reviews: FakeReviews) -> None:
    """Health for everybody, everything for masters."""
    authorizer = Authorizer(AuthorizationOptions(), reviews=reviews, clock=VirtualClock())
    assert (await authorizer.decide(ANONYMOUS, "get", "/livez")).allowed
    assert (await authorizer.decide(User(name="root", groups=("system:masters",)), "delete", "/metrics")).allowed
    assert reviews.asked == []


async def test_without_an_api_server_the_rest_is_forbidden() -> None:
    """No --authorization-kubeconfig and not in a cluster."""
    authorizer = Authorizer(AuthorizationOptions(), reviews=None, clock=VirtualClock())
    assert not (await authorizer.decide(ANN, "get", "/metrics")).allowed


async def test_the_api_server_decides_and_is_asked_once_in_a_while(reviews: FakeReviews) -> None:
    """Allowed and refused answers live for their own times."""
    clock = VirtualClock()
    options = AuthorizationOptions(
        authorized_cache_ttl=timedelta(seconds=20), unauthorized_cache_ttl=timedelta(seconds=5)
    )
    authorizer = Authorizer(options, reviews=reviews, clock=clock)

    async def ask() -> tuple[bool, bool, str]:
        allowed = await authorizer.decide(ANN, "get", "/metrics")
        refused = await authorizer.decide(ANN, "delete", "/metrics")
        return allowed.allowed, refused.allowed, refused.reason

    assert await ask() == (True, False, "no rule")
    clock.tick(6)
    await ask()
    assert len(reviews.asked) == 3
    assert reviews.specs[0] == {
        "user": "ann",
        "uid": "7",
        "groups": ["devs"],
        "extra": {"k": ["v"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }


async def test_an_api_server_that_fails_decides_nothing(reviews: FakeReviews) -> None:
    """The error reaches the page as a 500; it is never taken for a yes."""
    reviews.failing = True
    authorizer = Authorizer(AuthorizationOptions(), reviews=reviews, clock=VirtualClock())
    with pytest.raises(ApiStatusError):
        await authorizer.decide(ANN, "get", "/metrics")
