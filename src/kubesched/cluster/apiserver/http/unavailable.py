"""What a cluster without containers cannot do: requests for it are refused in one line that says why."""

from __future__ import annotations

from typing import Final

from kubesched.cluster.apiserver.http.answers import Answer
from kubesched.cluster.apiserver.http.queries import Query
from kubesched.errors import RequestRefusedError

_NO_CONTAINERS: Final = (
    "the nodes of this cluster are simulated: containers do not really run, so {what} is not available for {of} {name}"
)
_NO_TOKENS: Final = (
    "this cluster issues no tokens for service accounts: "
    "whoever has the token of its kubeconfig may do everything, and nobody else anything"
)
_REASONS: Final = {
    ("pods", "log"): ("a log", _NO_CONTAINERS),
    ("pods", "exec"): ("exec", _NO_CONTAINERS),
    ("pods", "attach"): ("attach", _NO_CONTAINERS),
    ("pods", "portforward"): ("port-forward", _NO_CONTAINERS),
    ("pods", "proxy"): ("a proxy", _NO_CONTAINERS),
    ("pods", "ephemeralcontainers"): ("an ephemeral container", _NO_CONTAINERS),
    ("pods", "resize"): ("a resize in place", _NO_CONTAINERS),
    ("nodes", "proxy"): ("a proxy", _NO_CONTAINERS),
    ("services", "proxy"): ("a proxy", _NO_CONTAINERS),
    ("serviceaccounts", "token"): ("a token", _NO_TOKENS),
}


def is_unavailable(plural: str, part: str) -> bool:
    return (plural, part) in _REASONS


def unavailable(plural: str, part: str, name: str, query: Query) -> Answer:
    """Refuses, with 501; only who follows a log is answered: kubectl asks again and again after an error."""
    what, reason = _REASONS[plural, part]
    message = reason.format(what=what, of=plural.removesuffix("s"), name=name)
    if part == "log" and query.get("follow") == "true":
        return Answer(200, f"{message}\n".encode(), content_type=b"text/plain")
    raise RequestRefusedError(501, "NotImplemented", message)
