"""Whether somebody may: always-allowed paths and groups first, then the API server's answer (SubjectAccessReview)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, NamedTuple

import msgspec

from kubesched.clock import Clock
from kubesched.errors import ConfigurationError
from kubesched.serving.reviews import ReviewCache, ReviewClient
from kubesched.serving.users import MASTERS_GROUP, User

ACCESS_REVIEWS_PATH: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


@dataclass(frozen=True, kw_only=True)
class AuthorizationOptions:
    """What the authorization flags say."""

    kubeconfig: str = ""
    authorized_cache_ttl: timedelta = timedelta(seconds=10)
    unauthorized_cache_ttl: timedelta = timedelta(seconds=10)
    always_allow_paths: tuple[str, ...] = ("/healthz", "/readyz", "/livez")


class Decision(NamedTuple):
    allowed: bool
    reason: str = ""


class PathPatterns:
    """Paths that anybody may ask for: whole paths, or prefixes that end in `*`."""

    def __init__(self, paths: Sequence[str]) -> None:
        bare = [path.removeprefix("/") for path in paths]
        if wrong := [path for path in bare if "*" in path[:-1]]:
            raise ConfigurationError(
                [f'--authorization-always-allow-paths: only trailing * allowed in "{path}"' for path in wrong]
            )
        self._prefixes = tuple(path[:-1] for path in bare if path.endswith("*"))
        self._paths = frozenset(path for path in bare if not path.endswith("*"))

    def match(self, path: str) -> bool:
        bare = path.removeprefix("/")
        return bare in self._paths or bare.startswith(self._prefixes)


class Authorizer:
    """Decides about requests for paths. Without a review client, only the always-allowed pass."""

    def __init__(self, options: AuthorizationOptions, *, reviews: ReviewClient | None, clock: Clock) -> None:
        self._options = options
        self._always = PathPatterns(options.always_allow_paths)
        self._reviews = reviews
        self._decisions: ReviewCache[Decision] = ReviewCache(clock)

    async def decide(self, user: User, verb: str, path: str) -> Decision:
        """Raises kubesched.errors.ClientError or TimeoutError when the API server cannot be asked."""
        if MASTERS_GROUP in user.groups or self._always.match(path):
            return Decision(True)
        if self._reviews is None:
            return Decision(False)
        reviews = self._reviews
        spec = _review_spec(user, verb, path)
        question = msgspec.json.encode(spec, order="sorted").decode()
        return await self._decisions.get(question, lambda: self._review(reviews, spec))

    async def _review(self, reviews: ReviewClient, spec: dict[str, Any]) -> tuple[Decision, float]:
        review = await reviews.create(
            ACCESS_REVIEWS_PATH,
            {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec},
        )
        status = review.get("status") or {}
        allowed = bool(status.get("allowed")) and not status.get("denied")
        ttl = self._options.authorized_cache_ttl if allowed else self._options.unauthorized_cache_ttl
        return Decision(allowed, status.get("reason", "")), ttl.total_seconds()


def _review_spec(user: User, verb: str, path: str) -> dict[str, Any]:
    spec: dict[str, Any] = {"user": user.name, "nonResourceAttributes": {"path": path, "verb": verb}}
    if user.uid:
        spec["uid"] = user.uid
    if user.groups:
        spec["groups"] = list(user.groups)
    if user.extra:
        spec["extra"] = {key: list(values) for key, values in user.extra.items()}
    return spec
