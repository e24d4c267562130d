"""Reviews: asked and answered, never stored."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.catalog.parts import REVIEW_VERBS
from kubesched.cluster.apiserver.resource import Resource


def _review(group: str, kind: str, *, namespaced: bool = False) -> Resource:
    return Resource(
        group=f"{group}.k8s.io",
        version="v1",
        kind=kind,
        plural=f"{kind.lower()}s",
        struct_name=f"{group}.v1.{kind}",
        namespaced=namespaced,
        verbs=REVIEW_VERBS,
        is_review=True,
    )


REVIEWS: Final = (
    _review("authentication", "SelfSubjectReview"),
    _review("authentication", "TokenReview"),
    _review("authorization", "LocalSubjectAccessReview", namespaced=True),
    _review("authorization", "SelfSubjectAccessReview"),
    _review("authorization", "SelfSubjectRulesReview"),
    _review("authorization", "SubjectAccessReview"),
)
